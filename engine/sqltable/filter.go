package sqltable

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// A filterCompiler turns SQL conditions over one table into predicates (I2).
type filterCompiler struct {
	ctx    *sql.Context
	schema *column.Schema // with meta columns
	column func(e sql.Expression) (name string, t sql.Type, ok bool)
}

// conjuncts compiles what it can of a condition: the parts of its top-level AND that it can type
// exactly. It returns nil when that is none of them.
func (f *filterCompiler) conjuncts(e sql.Expression) (p *predicate.Predicate, from []sql.Expression) {
	var args []*predicate.Predicate
	for _, part := range expression.SplitConjunction(f.ctx, e) {
		if q, ok := f.compile(part); ok {
			args = append(args, q)
			from = append(from, part)
		}
	}
	switch len(args) {
	case 0:
		return nil, nil
	case 1:
		return args[0], from
	}
	return &predicate.Predicate{Op: predicate.And, Args: args}, from
}

// compile translates a condition exactly — true, false and unknown stay what they are, so that the
// result may stand below NOT — or not at all.
func (f *filterCompiler) compile(e sql.Expression) (*predicate.Predicate, bool) {
	switch e := e.(type) {
	case *expression.And:
		return f.all(predicate.And, e.Children())
	case *expression.Or:
		return f.all(predicate.Or, e.Children())
	case *expression.Not:
		return f.all(predicate.Not, e.Children())
	case *expression.Equals:
		return f.compare(predicate.Eq, e.Left(), e.Right())
	case *expression.NullSafeEquals:
		return f.compare(predicate.NullSafeEq, e.Left(), e.Right())
	case *expression.LessThan:
		return f.compare(predicate.Lt, e.Left(), e.Right())
	case *expression.LessThanOrEqual:
		return f.compare(predicate.Le, e.Left(), e.Right())
	case *expression.GreaterThan:
		return f.compare(predicate.Gt, e.Left(), e.Right())
	case *expression.GreaterThanOrEqual:
		return f.compare(predicate.Ge, e.Left(), e.Right())
	case *expression.Between:
		lo, ok1 := f.compare(predicate.Ge, e.Val, e.Lower)
		hi, ok2 := f.compare(predicate.Le, e.Val, e.Upper)
		if !ok1 || !ok2 {
			return nil, false
		}
		return &predicate.Predicate{Op: predicate.And, Args: []*predicate.Predicate{lo, hi}}, true
	case *expression.InTuple:
		return f.in(e.Left(), e.Right())
	case *expression.HashInTuple:
		return f.in(e.Left(), e.Right())
	case *expression.IsNull:
		return f.isNull(e.Child)
	case *expression.Like:
		return f.like(e)
	case *expression.GetField:
		name, _, ok := f.column(e)
		if !ok || f.field(name).Type.Kind != column.Bool {
			return nil, false
		}
		return comparison(predicate.Eq, name, predicate.Value{Kind: column.Bool, I: 1}), true
	}
	return nil, false
}

func (f *filterCompiler) all(op predicate.Op, kids []sql.Expression) (*predicate.Predicate, bool) {
	p := &predicate.Predicate{Op: op}
	for _, k := range kids {
		q, ok := f.compile(k)
		if !ok {
			return nil, false
		}
		p.Args = append(p.Args, q)
	}
	return p, true
}

func comparison(op predicate.Op, name string, v predicate.Value) *predicate.Predicate {
	return &predicate.Predicate{Op: op, Column: name, Values: []predicate.Value{v}}
}

func (f *filterCompiler) field(name string) column.Field {
	return f.schema.Fields[f.schema.Index(name)]
}

// mirrored is the operator with its operands swapped.
var mirrored = map[predicate.Op]predicate.Op{predicate.Eq: predicate.Eq, predicate.NullSafeEq: predicate.NullSafeEq,
	predicate.Lt: predicate.Gt, predicate.Le: predicate.Ge, predicate.Gt: predicate.Lt, predicate.Ge: predicate.Le}

func (f *filterCompiler) compare(op predicate.Op, l, r sql.Expression) (*predicate.Predicate, bool) {
	name, t, ok := f.column(l)
	if !ok {
		if name, t, ok = f.column(r); !ok {
			return nil, false
		}
		op, r = mirrored[op], l
	}
	c, ok := constantOf(f.ctx, r)
	if !ok {
		return nil, false
	}
	field := f.field(name)
	if op == predicate.NullSafeEq && isFloat(field.Type.Kind) {
		return nil, false // NaN shows as NULL, which a predicate tells apart
	}
	if c.v == nil {
		if op != predicate.NullSafeEq {
			return nil, false // never true; not worth a rule
		}
		return &predicate.Predicate{Op: predicate.IsNull, Column: name}, true
	}
	v, op, ok := operand(f.ctx, field.Type, t, c, op)
	if !ok {
		return nil, false
	}
	return comparison(op, name, v), true
}

func (f *filterCompiler) in(l, r sql.Expression) (*predicate.Predicate, bool) {
	name, t, ok := f.column(l)
	list, isTuple := r.(expression.Tuple)
	if !ok || !isTuple || len(list) == 0 {
		return nil, false
	}
	field := f.field(name)
	p := &predicate.Predicate{Op: predicate.In, Column: name}
	for _, item := range list {
		c, ok := constantOf(f.ctx, item)
		if !ok || c.v == nil || !sameClass(t, c.t) {
			return nil, false
		}
		v, op, ok := operand(f.ctx, field.Type, t, c, predicate.Eq)
		if !ok || op != predicate.Eq {
			return nil, false
		}
		p.Values = append(p.Values, v)
	}
	return p, true
}

// sameClass keeps IN lists to those whose items are compared without a conversion of the column.
func sameClass(col, item sql.Type) bool {
	switch {
	case types.IsInteger(col):
		return types.IsInteger(item)
	case types.IsTextOnly(col):
		return types.IsTextOnly(item)
	case types.IsDecimal(col):
		return types.IsInteger(item) || types.IsDecimal(item)
	case types.IsTime(col):
		return types.IsTime(item) || types.IsTextOnly(item)
	}
	return false
}

func (f *filterCompiler) isNull(e sql.Expression) (*predicate.Predicate, bool) {
	name, _, ok := f.column(e)
	if !ok || isFloat(f.field(name).Type.Kind) || f.field(name).Type.Kind.Nested() {
		return nil, false
	}
	return &predicate.Predicate{Op: predicate.IsNull, Column: name}, true
}

// like compiles patterns that are a plain text or a plain prefix followed by %.
func (f *filterCompiler) like(e *expression.Like) (*predicate.Predicate, bool) {
	name, t, ok := f.column(e.Left())
	if !ok || !plainText(f.field(name).Type.Kind, t) {
		return nil, false
	}
	c, ok := constantOf(f.ctx, e.Right())
	pattern, isText := c.v.(string)
	if !ok || !isText || !types.IsTextOnly(c.t) {
		return nil, false
	}
	if e.Escape != nil {
		esc, ok := constantOf(f.ctx, e.Escape)
		if s, isText := esc.v.(string); !ok || esc.v != nil && (!isText || s != `\`) {
			return nil, false
		}
	}
	prefix := strings.TrimRight(pattern, "%")
	if strings.ContainsAny(prefix, `%_\`) {
		return nil, false
	}
	v := predicate.Value{Kind: column.String, B: []byte(prefix)}
	switch {
	case prefix == pattern:
		return comparison(predicate.Eq, name, v), true
	case prefix == "":
		return nil, false
	}
	return comparison(predicate.Prefix, name, v), true
}

func isFloat(k column.Kind) bool { return k == column.Float32 || k == column.Float64 }

// plainText reports whether a column's strings compare by their bytes: no ENUM, SET, JSON or
// collation of their own.
func plainText(k column.Kind, t sql.Type) bool {
	s, ok := t.(sql.StringType)
	return k == column.String && ok && types.IsTextOnly(t) && s.Collation() == sql.Collation_Default
}
