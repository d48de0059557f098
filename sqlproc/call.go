package sqlproc

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/shopspring/decimal"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
)

// call is a CALL in the statement tree.
type call struct {
	procs    *Procedures
	proc     *Procedure
	database string   // qualifier of the name; may be empty
	names    []string // of the arguments; "" for one that is given by position
}

var _ sqlparser.Injectable = (*call)(nil)

// String is the statement as EXPLAIN and logs show it.
func (c *call) String() string { return "call " + c.proc.Name }

// WithResolvedChildren implements sqlparser.Injectable: it puts the arguments in the places of the
// parameters.
func (c *call) WithResolvedChildren(_ context.Context, children []any) (any, error) {
	n := &callNode{call: c, args: make([]sql.Expression, len(c.proc.Params))}
	if len(children) > len(c.proc.Params) {
		return nil, c.wrong("", fmt.Sprintf("%d are given, it has %d", len(children), len(c.proc.Params)), true)
	}
	positional := 0
	for i, child := range children {
		at := positional
		if name := c.names[i]; name != "" {
			if at = c.proc.param(name); at < 0 {
				return nil, c.wrong(name, "there is none of this name", false)
			}
		} else {
			positional++
		}
		e, ok := child.(sql.Expression)
		if !ok {
			return nil, c.wrong(c.proc.Params[at].Name, "it is not a value", false)
		}
		if n.args[at] != nil {
			return nil, c.wrong(c.proc.Params[at].Name, "it is given twice", false)
		}
		n.args[at] = e
	}
	for i, p := range c.proc.Params {
		if p.Required && n.args[i] == nil {
			return nil, c.wrong(p.Name, "it is required", true)
		}
	}
	return n, nil
}

func (c *call) wrong(argument, reason string, count bool) error {
	return &ArgumentError{Procedure: c.proc.Name, Argument: argument, Reason: reason, Signature: c.proc.Signature(), count: count}
}

// callNode is a CALL in a plan.
type callNode struct {
	*call
	args []sql.Expression // by parameter; nil: not given
}

var (
	_ sql.ExecSourceRel = (*callNode)(nil)
	_ sql.Expressioner  = (*callNode)(nil)
)

// Resolved implements sql.Node.
func (n *callNode) Resolved() bool {
	for _, e := range n.args {
		if e != nil && !e.Resolved() {
			return false
		}
	}
	return true
}

// Schema implements sql.Node.
func (n *callNode) Schema(*sql.Context) sql.Schema { return n.proc.Result }

// Children implements sql.Node.
func (n *callNode) Children() []sql.Node { return nil }

// WithChildren implements sql.Node.
func (n *callNode) WithChildren(_ *sql.Context, kids ...sql.Node) (sql.Node, error) {
	if len(kids) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(kids), 0)
	}
	return n, nil
}

// IsReadOnly implements sql.Node.
func (n *callNode) IsReadOnly() bool { return n.proc.ReadOnly }

// Expressions implements sql.Expressioner.
func (n *callNode) Expressions() []sql.Expression {
	var out []sql.Expression
	for _, e := range n.args {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// WithExpressions implements sql.Expressioner.
func (n *callNode) WithExpressions(_ *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	c := &callNode{call: n.call, args: make([]sql.Expression, len(n.args))}
	i := 0
	for k, e := range n.args {
		if e == nil {
			continue
		}
		if i == len(exprs) {
			return nil, sql.ErrInvalidChildrenNumber.New(n, len(exprs), len(n.Expressions()))
		}
		c.args[k] = exprs[i]
		i++
	}
	if i != len(exprs) {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(exprs), i)
	}
	return c, nil
}

// RowIter implements sql.ExecSourceRel.
func (n *callNode) RowIter(*sql.Context, sql.Row) (sql.RowIter, error) {
	return &callIter{node: n}, nil
}

// callIter runs the procedure when its first row is fetched: only then does the server notice a
// client that goes away (I5).
type callIter struct {
	node *callNode
	rows []sql.Row
	ran  bool
}

// Next implements sql.RowIter.
func (i *callIter) Next(ctx *sql.Context) (sql.Row, error) {
	if !i.ran {
		i.ran = true
		c, err := i.node.evaluate(ctx)
		if err != nil {
			return nil, err
		}
		if i.rows, err = i.node.proc.Run(ctx, c); err != nil {
			if done := ctx.Err(); done != nil {
				return nil, done // whatever it broke on the way
			}
			return nil, err
		}
	}
	if len(i.rows) == 0 {
		return nil, io.EOF
	}
	row := i.rows[0]
	i.rows = i.rows[1:]
	return row, nil
}

// Close implements sql.RowIter.
func (i *callIter) Close(*sql.Context) error { return nil }

// Call is one call of a procedure: its arguments, checked, with defaults filled in. NULL is the
// same as an argument that is not given.
type Call struct {
	node     *callNode
	values   []any // string, int64 or bool; nil: not given
	database string
}

// evaluate checks the arguments.
func (n *callNode) evaluate(ctx *sql.Context) (*Call, error) {
	c := &Call{node: n, values: make([]any, len(n.args)), database: n.database}
	if n.database != "" {
		real, ok := n.procs.w.HasDatabase(n.database)
		if !ok {
			return nil, sql.ErrDatabaseNotFound.New(n.database)
		}
		c.database = real
	} else {
		c.database = ctx.GetCurrentDatabase()
	}
	for i, p := range n.proc.Params {
		var v any
		if n.args[i] != nil {
			var err error
			if v, err = n.args[i].Eval(ctx, nil); err == nil {
				v, err = sql.UnwrapAny(ctx, v)
			}
			if err != nil {
				return nil, err
			}
		}
		if v == nil {
			if p.Required {
				return nil, n.wrong(p.Name, "it is required, not NULL", false)
			}
			c.values[i] = p.Default
			continue
		}
		var ok bool
		if c.values[i], ok = convert(v, p.Type); !ok {
			return nil, n.wrong(p.Name, fmt.Sprintf("%v is not of type %s", show(v), p.Type), false)
		}
	}
	return c, nil
}

// convert gives a value the type of its parameter, if it says the same in it.
func convert(v any, t Type) (any, bool) {
	text, isText := "", true
	switch x := v.(type) {
	case string:
		text = x
	case []byte:
		text = string(x)
	case bool:
		isText = false
		if text = "0"; x {
			text = "1"
		}
		if t == Bool {
			return x, true
		}
		if t == String {
			return nil, false
		}
	case decimal.Decimal:
		text = x.String()
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64:
		text = fmt.Sprint(x)
	default:
		return nil, false
	}
	switch t {
	case String:
		return text, true
	case Int:
		if d, err := decimal.NewFromString(strings.TrimSpace(text)); err == nil && d.IsInteger() && d.BigInt().IsInt64() {
			return d.BigInt().Int64(), true
		}
	case Bool:
		if text = strings.TrimSpace(text); isText {
			if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil {
				return b, true
			}
		}
	}
	return nil, false
}

func show(v any) string {
	switch x := v.(type) {
	case string:
		return quoteString(x)
	case []byte:
		return quoteString(string(x))
	}
	return fmt.Sprint(v)
}

func (c *Call) value(name string) any {
	if i := c.node.proc.param(name); i >= 0 {
		return c.values[i]
	}
	return nil
}

// String is a string argument, "" when it is not given.
func (c *Call) String(name string) string { s, _ := c.value(name).(string); return s }

// Int is an integer argument, 0 when it is not given.
func (c *Call) Int(name string) int64 { n, _ := c.value(name).(int64); return n }

// Bool is a truth value, false when it is not given.
func (c *Call) Bool(name string) bool { b, _ := c.value(name).(bool); return b }

// Given reports whether an argument has a value.
func (c *Call) Given(name string) bool { return c.value(name) != nil }

// Wrong is the error of an argument.
func (c *Call) Wrong(name, reason string) error { return c.node.wrong(name, reason, false) }

// tableName is the database and table that the argument table names.
func (c *Call) tableName(ctx *sql.Context) (database, table string, err error) {
	name := strings.TrimSpace(c.String("table"))
	database = c.database
	if db, t, ok := cutName(name); ok {
		real, ok := c.node.procs.w.HasDatabase(db)
		if !ok {
			return "", "", sql.ErrDatabaseNotFound.New(db)
		}
		database, name = real, t
	}
	if name = unquoteName(name); name == "" {
		return "", "", c.Wrong("table", "it is empty")
	}
	if database == "" {
		return "", "", sql.ErrNoDatabaseSelected.New()
	}
	return database, name, c.node.procs.allow(ctx, c.node.proc, database, name)
}

// cutName splits db.t at the dot outside quotes.
func cutName(name string) (database, table string, ok bool) {
	quoted := false
	for i := range len(name) {
		switch {
		case name[i] == '`':
			quoted = !quoted
		case name[i] == '.' && !quoted:
			return unquoteName(name[:i]), name[i+1:], true
		}
	}
	return "", "", false
}

func unquoteName(name string) string {
	name = strings.TrimSpace(name)
	if strings.HasPrefix(name, "`") && strings.HasSuffix(name, "`") {
		return unquote(name)
	}
	return name
}

// table opens the table that the arguments table or path name.
func (c *Call) table(ctx *sql.Context) (*engine.Table, error) {
	if c.String("table") != "" {
		database, name, err := c.tableName(ctx)
		if err != nil {
			return nil, err
		}
		return c.node.procs.w.Table(ctx, database, name)
	}
	if c.String("path") == "" {
		if c.node.proc.param("path") < 0 {
			return nil, c.Wrong("table", "it is empty")
		}
		return nil, c.node.wrong("", "one of table and path is needed", true)
	}
	w := c.node.procs.w
	path, err := w.ResolvePath(c.String("path"))
	if err != nil {
		return nil, err
	}
	for _, db := range w.Databases() {
		names, err := w.Tables(db)
		if err != nil {
			continue // dropped meanwhile
		}
		for _, n := range names {
			// One that cannot be opened cannot be worked on either.
			if t, err := w.Table(ctx, db, n); err == nil && t.BasePath() == path {
				return t, c.node.procs.allow(ctx, c.node.proc, t.Database(), t.Name())
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return nil, &engine.NameError{Kind: engine.ErrNoSuchTable, Name: path, Hint: "no table is served from this path; CALL attach_table first"}
}

// options are the layers above a table's properties: the argument options, then the session's.
func (c *Call) options(ctx *sql.Context) (map[string]string, error) {
	out := map[string]string{}
	if s, ok := ctx.Session.(*sqltable.Session); ok {
		for k, v := range s.Options() {
			out[k] = v
		}
	}
	m, err := engine.ParseOptions(c.String("options"))
	for k, v := range m {
		out[k] = v
	}
	return out, err
}

// list is an argument that is a comma list.
func (c *Call) list(name string) []string {
	var out []string
	for _, s := range strings.Split(c.String(name), ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// note tells the client something that is no error.
func note(ctx *sql.Context, text string) {
	ctx.Session.Warn(&sql.Warning{Level: "Note", Code: 1105, Message: text})
}
