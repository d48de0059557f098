package server

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// maxExecutionTime names the variable that bounds a SELECT, in milliseconds; 0 is no bound. The
// SQL engine only keeps it.
const maxExecutionTime = "max_execution_time"

// errQueryTimeout is the error of a SELECT that max_execution_time ended.
var errQueryTimeout = mysql.NewSQLError(3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded")

// limitTime bounds a statement by the session's max_execution_time. As in MySQL that is for SELECT
// only: a write is never ended by it. stop must be called with what the statement gives in the end.
func (h *handler) limitTime(ctx *sql.Context, text string) (_ *sql.Context, stop func(*error), err error) {
	none := func(*error) {}
	v, err := ctx.GetSessionVariable(ctx, maxExecutionTime)
	if err != nil {
		return nil, nil, err
	}
	ms, ok := v.(int64)
	if !ok || ms <= 0 || ms > math.MaxInt64/int64(time.Millisecond) || !h.selects(ctx, text) {
		return ctx, none, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, errQueryTimeout)
	stop = func(err *error) {
		// Whatever a statement says that was stopped in the middle, this is why.
		if *err != nil && errors.Is(context.Cause(limited), errQueryTimeout) {
			*err = errQueryTimeout
		}
		cancel()
	}
	return ctx.WithContext(limited), stop, nil
}

// selects reports whether the first statement of a text is a SELECT. One that does not parse is
// none: it fails soon by itself.
func (h *handler) selects(ctx *sql.Context, text string) bool {
	parsed, _, _, err := h.engine.Parser.Parse(ctx, text, true)
	if err != nil {
		return false
	}
	switch parsed.(type) {
	case *sqlparser.Select, *sqlparser.SetOp, *sqlparser.ParenSelect:
		return true
	}
	return false
}
