package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	gsql "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/go-sql-driver/mysql"
)

// busy is a table function's place in these tests: a procedure that works until it is stopped.
// It says on entered that it runs, and on left what ended it.
type busy struct {
	entered chan struct{}
	left    chan error
	release chan struct{} // closing it lets the procedure end
}

func addBusy(s *testServer, name string) *busy {
	b := &busy{entered: make(chan struct{}, 1), left: make(chan error, 1), release: make(chan struct{})}
	s.sql.Engine.Analyzer.Catalog.RegisterFunction(gsql.NewEmptyContext(), gsql.Function0{Name: name,
		Fn: func(*gsql.Context) gsql.Expression { return &busyExpr{b} }})
	return b
}

// busyExpr is the function: one value, when it is let go.
type busyExpr struct{ b *busy }

func (e *busyExpr) Resolved() bool                { return true }
func (e *busyExpr) String() string                { return "busy()" }
func (e *busyExpr) Type(*gsql.Context) gsql.Type  { return types.Int64 }
func (e *busyExpr) IsNullable(*gsql.Context) bool { return false }
func (e *busyExpr) Children() []gsql.Expression   { return nil }
func (e *busyExpr) IsNonDeterministic() bool      { return true }
func (e *busyExpr) FunctionName() string          { return "busy" }
func (e *busyExpr) Description() string           { return "" }
func (e *busyExpr) WithChildren(*gsql.Context, ...gsql.Expression) (gsql.Expression, error) {
	return e, nil
}

func (e *busyExpr) Eval(ctx *gsql.Context, _ gsql.Row) (any, error) {
	e.b.entered <- struct{}{}
	select {
	case <-ctx.Done():
		e.b.left <- context.Cause(ctx)
		return nil, ctx.Err()
	case <-e.b.release:
		e.b.left <- nil
		return int64(42), nil
	}
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing happened: " + what)
		panic("unreachable")
	}
}

func TestKillQueryEndsTheStatementAndKeepsTheConnection(t *testing.T) {
	s := start(t, nil)
	b := addBusy(s, "busy")
	db := s.open("")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	id := rows(t, conn, "SELECT CONNECTION_ID()")
	done := make(chan error, 1)
	go func() {
		_, err := queryRows(context.Background(), conn, "SELECT busy()")
		done <- err
	}()
	receive(t, b.entered, "the statement runs")
	if got := rows(t, db, "SELECT info FROM information_schema.processlist WHERE id = "+id); got != "SELECT busy()" {
		t.Errorf("processlist: %s", got)
	}
	exec(t, db, "KILL QUERY "+id)
	isError(t, "the killed statement", receive(t, done, "the statement ends"), 1317, "70100", "interrupted")
	receive(t, b.left, "the function stops")
	want(t, conn, id, "SELECT CONNECTION_ID()")
}

func TestAStatementEndsWithItsClient(t *testing.T) {
	certFile, keyFile := certificate(t)
	for name, tail := range map[string]string{"plain": "", "TLS": "?tls=skip-verify"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *Config) { c.TLSCert, c.TLSKey = certFile, keyFile })
			b := addBusy(s, "busy")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			db := s.open(tail)
			go func() {
				_, err := queryRows(ctx, db, "SELECT busy()")
				done <- err
			}()
			receive(t, b.entered, "the statement runs")
			cancel() // the driver closes the connection
			receive(t, done, "the client is away")
			if err := receive(t, b.left, "the function stops"); !errors.Is(err, errClientGone) {
				t.Errorf("ended by %v", err)
			}
			want(t, db, "1", "SELECT 1")
		})
	}
}

func TestAPanicIsAnErrorOfItsStatement(t *testing.T) {
	s := start(t, nil)
	s.sql.Engine.Analyzer.Catalog.RegisterFunction(gsql.NewEmptyContext(), gsql.Function0{Name: "burst",
		Fn: func(*gsql.Context) gsql.Expression { return &burst{} }})
	db := s.open("")
	db.SetMaxOpenConns(1)
	fails(t, db, 1105, "HY000", "SELECT burst()", "SELECT burst()")
	want(t, db, "1", "SELECT 1")
}

type burst struct{ busyExpr }

func (b *burst) WithChildren(*gsql.Context, ...gsql.Expression) (gsql.Expression, error) {
	return b, nil
}

func (b *burst) Eval(*gsql.Context, gsql.Row) (any, error) { panic("on purpose") }

func TestCloseWaitsForRunningStatements(t *testing.T) {
	s := start(t, func(c *Config) { c.GracePeriod = time.Hour })
	b := addBusy(s, "busy")
	db, other := s.open(""), s.open("")
	idle, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := queryRows(context.Background(), db, "SELECT busy()")
		done <- answer{text, err}
	}()
	receive(t, b.entered, "the statement runs")
	s.stop()
	for !s.clients.closing() {
		runtime.Gosched() // Close has been asked for; it begins in a moment
	}
	if err := idle.PingContext(t.Context()); err == nil {
		t.Error("an idle connection is still served")
	}
	close(b.release)
	if a := receive(t, done, "the answer comes"); a.err != nil || a.text != "42" {
		t.Errorf("answer %q, %v", a.text, a.err)
	}
	if err := receive(t, s.served, "Serve returns"); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("still listening", c.Close())
	}
}

func TestCloseCancelsAfterTheGracePeriod(t *testing.T) {
	s := start(t, func(c *Config) { c.GracePeriod = time.Millisecond })
	b := addBusy(s, "busy")
	db := s.open("")
	done := make(chan error, 1)
	go func() {
		_, err := queryRows(context.Background(), db, "SELECT busy()")
		done <- err
	}()
	receive(t, b.entered, "the statement runs")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := receive(t, b.left, "the function stops"); !errors.Is(err, errShutdown) {
		t.Errorf("ended by %v", err)
	}
	if receive(t, done, "the client hears of it") == nil {
		t.Error("no error")
	}
}

func TestNoPasswordBeyondLoopback(t *testing.T) {
	for address, open := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "127.8.9.10:0": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "192.0.2.1:0": false, "[2001:db8::1]:0": false,
	} {
		err := checkAddress(t.Context(), address)
		var needed *PasswordNeededError
		if open != (err == nil) || !open && (!errors.As(err, &needed) || !strings.Contains(err.Error(), "--password-file") || !strings.Contains(err.Error(), "SHOAL_PASSWORD")) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := checkAddress(t.Context(), "nonsense"); err == nil {
		t.Error("an address without port is taken")
	}
}

func TestPassword(t *testing.T) {
	certFile, keyFile := certificate(t)
	s := start(t, func(c *Config) {
		c.User, c.Password, c.Listen, c.TLSCert, c.TLSKey = "ada", "s3cret", "0.0.0.0:0", certFile, keyFile
	})
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dsn := func(who, tail string) string { return fmt.Sprintf("%s@tcp(127.0.0.1:%s)/%s", who, port, tail) }
	want(t, openDSN(t, dsn("ada:s3cret", "")), "ada@%", "SELECT CURRENT_USER()")
	want(t, openDSN(t, dsn("ada:s3cret", "?tls=skip-verify")), "1", "SELECT 1")
	for _, who := range []string{"ada", "ada:wrong", "root", "root:s3cret", ":"} {
		fails(t, openDSN(t, dsn(who, "")), 1045, "28000", "Access denied", "SELECT 1")
	}
}

// Clients begin with the method that they know; those without mysql_native_password end there.
func TestLoginWithoutTheNativeMethod(t *testing.T) {
	for password, ok := range map[string]bool{"": false, "s3cret": true, "wrong": false} {
		s := start(t, func(c *Config) { c.Password = "s3cret" })
		c := s.dial()
		c.login("caching_sha2_password")
		change := c.read() // asks for the proof, with the salt for it
		salt, named := strings.CutPrefix(string(change), "\xfecaching_sha2_password\x00")
		if !named {
			t.Fatalf("%q", change)
		}
		c.send(3, sha2Proof(password, strings.TrimSuffix(salt, "\x00")))
		answer := c.read()
		if ok {
			if string(answer) != "\x01\x03" { // known without the password itself
				t.Fatalf("%q", answer)
			}
			if answer = c.read(); answer[0] != 0 {
				t.Errorf("%q", answer)
			}
		} else if !strings.HasPrefix(string(answer), "\xff\x15\x04#28000") { // 1045
			t.Errorf("password %q: %q", password, answer)
		}
	}
	// An account without password.
	c := start(t, nil).dial()
	c.login("caching_sha2_password")
	if change := c.read(); change[0] != 0xfe {
		t.Fatalf("%q", change)
	}
	c.send(3, []byte{0})
	if answer := c.read(); answer[0] != 0 {
		t.Errorf("%q", answer)
	}
}

// sha2Proof is what caching_sha2_password sends: SHA256(p) XOR SHA256(SHA256(SHA256(p)) + salt).
func sha2Proof(password, salt string) []byte {
	if password == "" {
		return []byte{0}
	}
	one := sha256.Sum256([]byte(password))
	two := sha256.Sum256(one[:])
	three := sha256.Sum256(append(two[:], salt...))
	for i := range one {
		one[i] ^= three[i]
	}
	return one[:]
}

// The hash is MySQL's: SELECT CONCAT('*', UPPER(SHA1(UNHEX(SHA1('password'))))).
func TestNativeHash(t *testing.T) {
	if got := nativeHash("password"); got != "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19" {
		t.Error(got)
	}
}

func TestAccountsOutliveTheServer(t *testing.T) {
	root := t.TempDir()
	s := startRoot(t, root, nil)
	db := s.open("")
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (a INT)")
	exec(t, db, "CREATE USER bob@localhost IDENTIFIED BY 'b0b'")
	exec(t, db, "GRANT SELECT, EXECUTE ON d.* TO bob@localhost")
	exec(t, db, "ALTER USER root@localhost IDENTIFIED BY 'changed'")
	fails(t, s.open(""), 1045, "28000", "root", "SELECT 1")
	_ = db.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(root, accountsFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("accounts: %v, %v", st, err)
	}
	s = startRoot(t, root, nil)
	bob := openDSN(t, s.dsn("bob:b0b", "d"))
	want(t, bob, "0", "SELECT COUNT(*) FROM t")
	fails(t, bob, 1142, "42000", "", "INSERT INTO t VALUES (1)")
	rows(t, bob, "CALL show_commits(table => 't')")
	fails(t, bob, 1370, "42000", "INSERT", "CALL run_clustering(table => 't')")
	want(t, s.open(""), "1", "SELECT 1") // the server's own account is made anew
}

func TestTLS(t *testing.T) {
	certFile, keyFile := certificate(t)
	s := start(t, func(c *Config) { c.TLSCert, c.TLSKey = certFile, keyFile })
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(certFile)
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	if err := mysql.RegisterTLSConfig("test", &tls.Config{RootCAs: pool, ServerName: "localhost"}); err != nil {
		t.Fatal(err)
	}
	db := s.open("?tls=test")
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (a INT)")
	if got := rows(t, db, "CALL show_commits(table => ?)", "d.t"); got != "" {
		t.Errorf("commits: %s", got)
	}
	if _, err := New(Config{Warehouse: s.w, Listen: "127.0.0.1:0", TLSCert: certFile}); err == nil {
		t.Error("a certificate without key is taken")
	}
}

// certificate writes a certificate for localhost and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", der)
}

// raw speaks to a server in packets.
type raw struct {
	t *testing.T
	net.Conn
}

func (s *testServer) dial() *raw {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	r := &raw{s.t, c}
	if greeting := r.read(); greeting[0] != 10 {
		s.t.Fatalf("greeting %q", greeting)
	}
	return r
}

// login sends user root without a proof.
func (r *raw) login(method string) {
	r.t.Helper()
	// Protocol 4.1, secure connection, plugin.
	head := append([]byte{0, 0x82, 0x08, 0, 0, 0, 0, 1, 33}, make([]byte, 23)...)
	r.send(1, append(head, "root\x00\x00"+method+"\x00"...))
}

func (s *testServer) raw() *raw {
	s.t.Helper()
	r := s.dial()
	r.login("mysql_native_password")
	if ok := r.read(); ok[0] != 0 {
		s.t.Fatalf("login: %q", ok)
	}
	return r
}

func (r *raw) send(sequence byte, payload []byte) {
	r.t.Helper()
	if _, err := r.Write(packet(sequence, payload)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) read() []byte {
	r.t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		r.t.Fatal(err)
	}
	b := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(r, b); err != nil {
		r.t.Fatal(err)
	}
	return b
}

func TestStatisticsCommand(t *testing.T) {
	r := start(t, nil).raw()
	for range 2 {
		r.send(0, []byte{comStatistics})
		if got := string(r.read()); !strings.HasPrefix(got, "Uptime: ") || !strings.Contains(got, "  Threads: 1  ") {
			t.Errorf("%q", got)
		}
	}
	r.send(0, []byte{14}) // ping
	if ok := r.read(); ok[0] != 0 {
		t.Errorf("ping: %q", ok)
	}
}

func TestChangeUserIsRefusedAndEndsTheConnection(t *testing.T) {
	r := start(t, nil).raw()
	r.send(0, append([]byte{comChangeUser}, "root\x00\x00\x00"...))
	if e := r.read(); e[0] != 0xff || !strings.Contains(string(e), "08S01") {
		t.Errorf("%q", e)
	}
	if _, err := r.Conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
}

func TestPrepareOfNothing(t *testing.T) {
	r := start(t, nil).raw()
	r.send(0, append([]byte{comPrepare}, "-- nothing"...))
	if e := string(r.read()); !strings.HasPrefix(e, "\xff\x29\x04#42000") { // 1065
		t.Errorf("%q", e)
	}
}

func TestLoadDataCannotBePrepared(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (a INT)")
	_, err := db.Prepare("LOAD DATA INFILE '/etc/hostname' INTO TABLE d.t")
	isError(t, "LOAD DATA", err, 1295, "HY000", "prepared")
	want(t, db, "1", "SELECT ?", 1)
}
