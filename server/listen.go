package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dolthub/vitess/go/mysql"
)

// PasswordNeededError refuses to listen where others can reach an account without a password.
type PasswordNeededError struct{ Address string }

func (e *PasswordNeededError) Error() string {
	return fmt.Sprintf("refusing to listen on %s without a password: others than this machine can reach it; "+
		"give one with --password-file or the environment variable SHOAL_PASSWORD, or listen on 127.0.0.1", e.Address)
}

// checkAddress returns a PasswordNeededError unless every address that host:port stands for is a
// loopback one.
func checkAddress(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	if host == "" {
		return &PasswordNeededError{Address: address}
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	for _, ip := range ips {
		if !ip.IP.IsLoopback() {
			return &PasswordNeededError{Address: address}
		}
	}
	return nil
}

// loadTLS reads the certificate and key that clients are shown; nil without any.
func loadTLS(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	if certFile == "" || keyFile == "" {
		return nil, errors.New("TLS needs both a certificate and a key")
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s with key %s: %w", certFile, keyFile, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// limitedListener turns clients away, with MySQL's error, while limit connections are open.
type limitedListener struct {
	net.Listener
	limit int

	mu   sync.Mutex // guards open
	open int
}

// Accept implements net.Listener. The errors of a single connection are passed over, since the
// wire library stops at the first one; it ends when the listener is closed.
func (l *limitedListener) Accept() (net.Conn, error) {
	for wait := time.Duration(0); ; {
		c, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil { // too many open files, most likely
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			time.Sleep(wait)
			continue
		}
		wait = 0
		if l.enter() {
			return &limitedConn{Conn: c, leave: sync.OnceFunc(l.leave)}, nil
		}
		go refuse(c)
	}
}

func (l *limitedListener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.limit {
		return false
	}
	l.open++
	return true
}

func (l *limitedListener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

// refuse tells a client that there are too many before it is greeted, when errors have no
// SQLSTATE yet.
func refuse(c net.Conn) {
	defer c.Close()
	const message = "Too many connections"
	code := mysql.ERConCount
	payload := append([]byte{0xff, byte(code), byte(code >> 8)}, message...)
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return
	}
	_, _ = c.Write(packet(0, payload)) // nobody is left to be told if it fails
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
