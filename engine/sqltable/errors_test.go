package sqltable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/shoaldb/shoal/engine"
)

func TestSQLErrorCodes(t *testing.T) {
	for _, c := range []struct {
		err   error
		num   int
		state string
	}{
		{&engine.NameError{Kind: engine.ErrNoSuchDatabase, Name: "x"}, 1049, "42000"},
		{&engine.NameError{Kind: engine.ErrDatabaseExists, Name: "x"}, 1007, "HY000"},
		{&engine.NameError{Kind: engine.ErrNoSuchTable, Name: "x"}, 1146, "42S02"},
		{&engine.NameError{Kind: engine.ErrTableExists, Name: "x"}, 1050, "42S01"},
		{&engine.NameError{Kind: engine.ErrNoSuchColumn, Name: "x"}, 1054, "42S22"},
		{&engine.NameError{Kind: engine.ErrPathNotAllowed, Name: "x"}, 1290, "HY000"},
		{&engine.NameError{Kind: engine.ErrNoSuchInstant, Name: "x"}, 1210, "HY000"},
		{&engine.DuplicateKeyError{Table: "t", Key: "x"}, 1062, "23000"},
		{&engine.ConflictError{Instant: "x"}, 1213, "40001"},
		{&engine.UnsupportedError{What: "x"}, 1235, "42000"},
		{&engine.OptionError{Key: "x"}, 1231, "42000"},
		{fmt.Errorf("x: %w", engine.ErrBadArgument), 1210, "HY000"},
		{fmt.Errorf("x: %w", engine.ErrMalformed), 1034, "HY000"},
		{fmt.Errorf("x: %w", context.Canceled), 1317, "70100"},
		{fmt.Errorf("x: %w", sql.ErrTableNotFound.New("x")), 1146, "42S02"},
		{errors.Join(sql.ErrInsertIntoNonNullableProvidedNull.New("x")), 1048, "23000"},
		{errors.New("x"), 1105, "HY000"},
	} {
		for _, err := range []error{c.err, &engine.TableError{Database: "d", Table: "t", Op: "read", Err: c.err}} {
			var e *mysql.SQLError
			if !errors.As(SQLError(err), &e) || e.Num != c.num || e.State != c.state {
				t.Errorf("%v: %v, want %d (%s)", err, SQLError(err), c.num, c.state)
			} else if !strings.Contains(e.Message, "x") {
				t.Errorf("%v lost its words: %v", err, e)
			}
		}
	}
	if SQLError(nil) != nil {
		t.Error("nil became an error")
	}
	done := mysql.NewSQLError(1, "00001", "kept")
	if SQLError(fmt.Errorf("wrapped: %w", done)) != error(done) {
		t.Error("a code was replaced")
	}
}
