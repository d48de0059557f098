package sqlproc

import (
	"errors"
	"fmt"

	"github.com/dolthub/vitess/go/mysql"

	"github.com/shoaldb/shoal/engine/ingest"
)

// MySQL error numbers.
const (
	erWrongArgumentCount = 1318
	erWrongArguments     = 1210
	erAccessDenied       = 1370
	erWrongValue         = 1366
)

// ArgumentError says which argument of a CALL is wrong and how the procedure is called.
type ArgumentError struct {
	Procedure string
	Argument  string // "" when it is about their number
	Reason    string
	Signature string
	count     bool // too few or too many
}

func (e *ArgumentError) Error() string {
	what := "arguments of procedure " + e.Procedure
	if e.Argument != "" {
		what = fmt.Sprintf("argument %s of procedure %s", e.Argument, e.Procedure)
	}
	return fmt.Sprintf("%s: %s; it is %s", what, e.Reason, e.Signature)
}

// Unwrap gives the MySQL error: 1318 for a wrong number of arguments, else 1210.
func (e *ArgumentError) Unwrap() error {
	if e.count {
		return mysql.NewSQLError(erWrongArgumentCount, "42000", "%s", e.Error())
	}
	return mysql.NewSQLError(erWrongArguments, "HY000", "%s", e.Error())
}

// AccessError says which privilege a CALL lacks.
type AccessError struct {
	User, Host, Procedure string
	Privilege, On         string
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("procedure %s: user '%s'@'%s' lacks the privilege %s on %s", e.Procedure, e.User, e.Host, e.Privilege, e.On)
}

// Unwrap gives the MySQL error 1370.
func (e *AccessError) Unwrap() error {
	return mysql.NewSQLError(erAccessDenied, "42000", "%s", e.Error())
}

// ImportError is why files could not be imported: a value that does not fit, other columns than
// the table's, or a file that is not well formed.
type ImportError struct{ Err error }

func (e *ImportError) Error() string { return e.Err.Error() }

// Unwrap gives the cause, and the MySQL error 1366 for a value that does not fit, else 1210.
func (e *ImportError) Unwrap() []error {
	num := erWrongArguments
	if errors.Is(e.Err, ingest.ErrValue) {
		num = erWrongValue
	}
	return []error{e.Err, mysql.NewSQLError(num, "HY000", "%s", e.Error())}
}

// importError marks the errors that are about the files; others have codes of their own.
func importError(err error) error {
	var format *ingest.FormatError
	if errors.As(err, &format) || errors.Is(err, ingest.ErrValue) || errors.Is(err, ingest.ErrColumns) || errors.Is(err, ingest.ErrOption) {
		return &ImportError{err}
	}
	return err
}
