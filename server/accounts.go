package server

import (
	"crypto/sha1" // what mysql_native_password is made of
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/vitess/go/mysql"
)

// DefaultUser is the account of a server that is given none.
const DefaultUser = "root"

// accountsFile holds the accounts and grants that were made by SQL, below the warehouse folder.
const accountsFile = ".shoal/accounts.db"

// accounts are those of a server: its own, which has every privilege and is made anew at each
// start, and those that CREATE USER made.
type accounts struct {
	db       *mysql_db.MySQLDb
	user     string
	password string
}

// newAccounts turns access control on. The server's own account may log in from this machine
// only if it has no password.
func newAccounts(ctx *sql.Context, db *mysql_db.MySQLDb, root, user, password string) (*accounts, error) {
	if user == "" {
		user = DefaultUser
	}
	a := &accounts{db: db, user: user, password: password}
	file := accountStore(filepath.Join(root, filepath.FromSlash(accountsFile)))
	saved, err := os.ReadFile(string(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	if err := db.LoadData(ctx, saved); err != nil {
		return nil, fmt.Errorf("accounts in %s: %w", file, err)
	}
	db.SetPersister(file)
	db.SetEnabled(true)
	ed := db.Editor()
	defer ed.Close()
	ed.RemoveUser(mysql_db.UserPrimaryKey{Host: a.host(), User: user})
	db.AddEphemeralSuperUser(ed, user, a.host(), password)
	return a, nil
}

func (a *accounts) host() string {
	if a.password == "" {
		return "localhost"
	}
	return "%"
}

// accountStore is the file of the accounts.
type accountStore string

// Persist implements mysql_db.MySQLDbPersistence. Either the old accounts or the new ones are in
// the file, whatever happens.
func (f accountStore) Persist(_ *sql.Context, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(string(f)), ".accounts-*") // readable by its owner only
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("accounts: %w", err), tmp.Close(), os.Remove(tmp.Name()))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), string(f)); err != nil {
		return err
	}
	return tmp.Close()
}

var _ mysql.AuthServer = (*accounts)(nil)

// AuthMethods implements mysql.AuthServer. The server's own account may use either of MySQL's
// methods: new clients lack mysql_native_password, old ones caching_sha2_password. Other accounts
// have the method that they were made with.
func (a *accounts) AuthMethods() []mysql.AuthMethod {
	sha2 := sha2Method{mysql.NewSha2CachingAuthMethod(a, a, a), a}
	return append([]mysql.AuthMethod{sha2}, a.db.AuthMethods()...)
}

// DefaultAuthMethodDescription implements mysql.AuthServer.
func (a *accounts) DefaultAuthMethodDescription() mysql.AuthMethodDescription {
	return a.db.DefaultAuthMethodDescription()
}

// sha2Method lets the server's own account in without TLS: its password is known, so the client
// need not send it.
type sha2Method struct {
	mysql.AuthMethod
	a *accounts
}

// HandleUser implements mysql.AuthMethod.
func (m sha2Method) HandleUser(c *mysql.Conn, user string) bool {
	return m.a.HandleUser(user, c.RemoteAddr())
}

// HandleUser implements mysql.UserValidator: only the server's own account, unless SQL has changed
// or dropped it.
func (a *accounts) HandleUser(user string, from net.Addr) bool {
	_, ok := a.own(user, from)
	return ok
}

func (a *accounts) own(user string, from net.Addr) (*mysql_db.User, bool) {
	host, _, err := net.SplitHostPort(from.String())
	if err != nil || user != a.user {
		return nil, false
	}
	rd := a.db.Reader()
	defer rd.Close()
	u := a.db.GetUser(rd, user, host, false)
	return u, u != nil && !u.Locked && u.IsEphemeral && u.Plugin == string(mysql.MysqlNativePassword) && u.AuthString == nativeHash(a.password)
}

// nativeHash is a password as mysql_native_password keeps it.
func nativeHash(password string) string {
	if password == "" {
		return ""
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	return fmt.Sprintf("*%X", twice)
}

// UserEntryWithCacheHash implements mysql.CachingStorage.
func (a *accounts) UserEntryWithCacheHash(_ *mysql.Conn, salt []byte, user string, answer []byte, from net.Addr) (mysql.Getter, mysql.CacheState, error) {
	u, ok := a.own(user, from)
	if !ok {
		return nil, mysql.AuthRejected, nil
	}
	if a.password == "" {
		if ok = len(answer) == 0 || len(answer) == 1 && answer[0] == 0; !ok {
			return nil, mysql.AuthRejected, nil
		}
	} else {
		once := sha256.Sum256([]byte(a.password))
		twice := sha256.Sum256(once[:])
		if len(answer) != len(twice) || !mysql.VerifyHashedCachingSha2Password(answer, salt, twice[:]) {
			return nil, mysql.AuthRejected, nil
		}
	}
	return sql.MysqlConnectionUser{User: u.User, Host: u.Host}, mysql.AuthAccepted, nil
}

// UserEntryWithPassword implements mysql.PlainTextStorage; the hash has always decided already.
func (a *accounts) UserEntryWithPassword(_ *mysql.Conn, user, _ string, _ net.Addr) (mysql.Getter, error) {
	return nil, mysql.NewSQLError(mysql.ERAccessDeniedError, mysql.SSAccessDeniedError, "Access denied for user '%s'", user)
}
