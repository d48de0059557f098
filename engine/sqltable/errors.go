package sqltable

import (
	"context"
	"errors"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer/analyzererrors"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	goerrors "gopkg.in/src-d/go-errors.v1"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/basefile"
)

// MySQL error numbers that vitess has no constants for.
const (
	erOptionPreventsStatement = 1290
	erCrashedOnUsage          = 1034
	erNotAvailableEngine      = 1286
	erWarningNotComplete      = 1196
	erDataTooLong             = 1406
	erOutOfRange              = 1264
	erWrongValue              = 1292
	erNonUniqColumn           = 1052
	erNoDefaultForField       = 1364
	erWrongArguments          = 1210
	erQueryInterrupted        = 1317
	erWrongValueForVar        = 1231
	erCheckConstraint         = 3819
	erOnlyFullGroupBy         = 1055
	erUnknownSystemVariable   = 1193
	erNoDatabaseSelected      = 1046
	erColumnCount             = 1136
	erNoSuchProcedure         = 1305
	erGetErrno                = 1030
	erWrongFieldSpec          = 1063
	erNotSupportedYet         = 1235
)

// A code is a MySQL error number with its SQLSTATE.
type code struct {
	num   int
	state string
}

// engineCodes pairs the engine's sentinels with MySQL codes, the most specific first.
var engineCodes = []struct {
	is error
	code
}{
	{engine.ErrNoSuchDatabase, code{mysql.ERBadDb, "42000"}},
	{engine.ErrDatabaseExists, code{mysql.ERDbCreateExists, "HY000"}},
	{engine.ErrNoSuchTable, code{mysql.ERNoSuchTable, "42S02"}},
	{engine.ErrTableExists, code{mysql.ERTableExists, "42S01"}},
	{engine.ErrNoSuchColumn, code{mysql.ERBadFieldError, "42S22"}},
	{engine.ErrDuplicateKey, code{mysql.ERDupEntry, "23000"}},
	{engine.ErrConflict, code{mysql.ERLockDeadlock, "40001"}},
	{engine.ErrPathNotAllowed, code{erOptionPreventsStatement, "HY000"}},
	{engine.ErrBadOption, code{erWrongValueForVar, "42000"}},
	{engine.ErrBadArgument, code{erWrongArguments, "HY000"}},
	{engine.ErrNoSuchInstant, code{erWrongArguments, "HY000"}},
	{engine.ErrUnsupported, code{erNotSupportedYet, "42000"}},
	{engine.ErrMalformed, code{erCrashedOnUsage, "HY000"}},
	{basefile.ErrUnsupported, code{erNotSupportedYet, "42000"}},
	{basefile.ErrCorrupt, code{erCrashedOnUsage, "HY000"}},
	{context.Canceled, code{erQueryInterrupted, "70100"}},
	{context.DeadlineExceeded, code{3024, "HY000"}},
}

// kindCodes are codes of go-mysql-server errors that it reports as 1105 (unknown error).
var kindCodes = []struct {
	kind *goerrors.Kind
	code
}{
	{sql.ErrTableAlreadyExists, code{mysql.ERTableExists, "42S01"}},
	{sql.ErrColumnNotFound, code{mysql.ERBadFieldError, "42S22"}},
	{sql.ErrTableColumnNotFound, code{mysql.ERBadFieldError, "42S22"}},
	{sql.ErrAmbiguousColumnName, code{erNonUniqColumn, "23000"}},
	{sql.ErrUnknownColumn, code{mysql.ERBadFieldError, "42S22"}},
	{sql.ErrTableNotFound, code{mysql.ERNoSuchTable, "42S02"}},
	{sql.ErrUnknownTable, code{mysql.ERBadTable, "42S02"}},
	{sql.ErrDatabaseNotFound, code{mysql.ERBadDb, "42000"}},
	{sql.ErrDatabaseExists, code{mysql.ERDbCreateExists, "HY000"}},
	{sql.ErrNoDatabaseSelected, code{erNoDatabaseSelected, "3D000"}},
	{sql.ErrSyntaxError, code{mysql.ERParseError, "42000"}},
	{sql.ErrUnsupportedSyntax, code{erNotSupportedYet, "42000"}},
	{sql.ErrUnsupportedFeature, code{erNotSupportedYet, "42000"}},
	{sql.ErrTemporaryTableNotSupported, code{erNotSupportedYet, "42000"}},
	{sql.ErrRenameTableNotSupported, code{erNotSupportedYet, "42000"}},
	{sql.ErrCreateTableNotSupported, code{erNotSupportedYet, "42000"}},
	{sql.ErrAlterTableNotSupported, code{erNotSupportedYet, "42000"}},
	{plan.ErrNotIndexable, code{erNotSupportedYet, "42000"}},
	{plan.ErrInsertIntoNotSupported, code{erNotSupportedYet, "42000"}},
	{sql.ErrUnknownSystemVariable, code{erUnknownSystemVariable, "HY000"}},
	{sql.ErrInvalidSystemVariableValue, code{erWrongValueForVar, "42000"}},
	{sql.ErrValueOutOfRange, code{erOutOfRange, "22003"}},
	{types.ErrLengthBeyondLimit, code{erDataTooLong, "22001"}},
	{types.ErrDataTruncatedForColumnAtRow, code{1265, "01000"}},
	{types.ErrConvertingToEnum, code{1265, "01000"}},
	{types.ErrConvertingToTime, code{erWrongValue, "22007"}},
	{types.ErrConvertingToTimeOutOfRange, code{erWrongValue, "22007"}},
	{sql.ErrTruncatedIncorrect, code{erWrongValue, "22007"}},
	{sql.ErrInsertIntoNonNullableDefaultNullColumn, code{erNoDefaultForField, "HY000"}},
	{sql.ErrInsertIntoNonNullableProvidedNull, code{mysql.ERBadNullError, "23000"}},
	{sql.ErrInsertIntoMismatchValueCount, code{erColumnCount, "21S01"}},
	{sql.ErrColumnCountMismatch, code{erColumnCount, "21S01"}},
	{sql.ErrNonAggregatedColumnWithoutGroupBy, code{mysql.ERMixOfGroupFuncAndFields, "42000"}},
	{types.ErrConvertToDecimalLimit, code{erOutOfRange, "22003"}},
	{analyzererrors.ErrValidationGroupBy, code{erOnlyFullGroupBy, "42000"}},
	{sql.ErrNoForeignKeySupport, code{erNotSupportedYet, "42000"}},
	{sql.ErrExistingView, code{mysql.ERTableExists, "42S01"}},
	{sql.ErrViewDoesNotExist, code{mysql.ERNoSuchTable, "42S02"}},
	{sql.ErrDatabaseAccessDeniedForUser, code{1044, "42000"}},
	{sql.ErrTableAccessDeniedForUser, code{1142, "42000"}},
	{sql.ErrPrivilegeCheckFailed, code{1142, "42000"}},
	{sql.ErrFunctionNotFound, code{erNoSuchProcedure, "42000"}},
	{sql.ErrInvalidArgumentNumber, code{1582, "42000"}},
	{sql.ErrDuplicateColumn, code{1060, "42S21"}},
	{sql.ErrLoadDataCannotOpen, code{29, "HY000"}},
	{sql.ErrInvalidJson, code{3140, "22032"}},
	{sql.ErrTriggerDoesNotExist, code{1360, "HY000"}},
	{sql.ErrStoredProcedureDoesNotExist, code{erNoSuchProcedure, "42000"}},
	{sql.ErrInvalidColumnDefaultValue, code{1067, "42000"}},
	{sql.ErrInvalidBlobTextKey, code{1170, "42000"}},
}

// SQLError gives an error the MySQL number and SQLSTATE of its cause; the message is the
// error's own. Nil stays nil, and an error that has a number keeps it. The result is always a
// *mysql.SQLError.
func SQLError(err error) error {
	if err == nil {
		return nil
	}
	var done *mysql.SQLError
	if errors.As(err, &done) {
		return done
	}
	var dup *engine.DuplicateKeyError
	if errors.As(err, &dup) {
		return mysql.NewSQLError(mysql.ERDupEntry, "23000", "Duplicate entry '%s' for key 'PRIMARY': %s", dup.Key, err.Error())
	}
	for _, c := range engineCodes {
		if errors.Is(err, c.is) {
			return mysql.NewSQLError(c.num, c.state, "%s", err.Error())
		}
	}
	cause := err
	var wrapped sql.WrappedInsertError
	if errors.As(err, &wrapped) {
		cause = wrapped.Cause
	}
	// A Kind knows its errors only bare; find the one in what wraps it.
	var kind *goerrors.Error
	if errors.As(cause, &kind) {
		cause = kind
	}
	for what, k := range refusedKinds {
		if k.Is(cause) {
			return SQLError(notYet(what))
		}
	}
	for _, c := range kindCodes {
		if c.kind.Is(cause) {
			return mysql.NewSQLError(c.num, c.state, "%s", err.Error())
		}
	}
	if e := sql.CastSQLError(cause); e.Num != mysql.ERUnknownError {
		return e
	}
	return sql.CastSQLError(err)
}

// refusedKinds are what go-mysql-server says before refuse is asked, by statement.
var refusedKinds = map[string]*goerrors.Kind{
	"REPLACE":                          plan.ErrReplaceIntoNotSupported,
	"INSERT … ON DUPLICATE KEY UPDATE": plan.ErrOnDuplicateKeyUpdateNotSupported,
	"DELETE":                           plan.ErrDeleteFromNotSupported,
	"UPDATE":                           plan.ErrUpdateNotSupported,
}
