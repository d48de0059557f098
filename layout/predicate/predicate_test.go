package predicate

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

func intVal(n int64) Value     { return Value{Kind: column.Int64, I: n} }
func floatVal(f float64) Value { return Value{Kind: column.Float64, F: f} }
func textVal(s string) Value   { return Value{Kind: column.String, B: []byte(s)} }
func decVal(n int64, scale int) Value {
	return Value{Kind: column.Decimal, D: column.Int128From(n), Scale: scale}
}

var null = Value{Null: true}

func leafOf(op Op, values ...Value) *Predicate {
	return &Predicate{Op: op, Column: "a", Values: values}
}
func not(p *Predicate) *Predicate     { return &Predicate{Op: Not, Args: []*Predicate{p}} }
func and(ps ...*Predicate) *Predicate { return &Predicate{Op: And, Args: ps} }
func or(ps ...*Predicate) *Predicate  { return &Predicate{Op: Or, Args: ps} }

func TestCompare(t *testing.T) {
	day := Value{Kind: column.Date, I: 1}
	for _, c := range []struct {
		a, b Value
		want int
		ok   bool
	}{
		{intVal(1), intVal(2), -1, true},
		{Value{Kind: column.Bool, I: 1}, intVal(1), 0, true},
		{intVal(1<<53 + 1), floatVal(1 << 53), 1, true}, // equal once rounded to float64
		{intVal(math.MaxInt64), floatVal(1 << 63), -1, true},
		{intVal(math.MinInt64), floatVal(-1 << 63), 0, true},
		{intVal(5), floatVal(math.Inf(1)), -1, true}, {floatVal(math.Inf(-1)), decVal(0, 0), -1, true},
		{decVal(10, 2), decVal(1, 1), 0, true}, {decVal(1, 1), floatVal(0.1), -1, true}, // the float is above 0.1
		{decVal(1, 38), Value{Kind: column.Decimal, D: column.Int128{Hi: 1 << 61}}, -1, true},
		{decVal(5, 1), floatVal(0.5), 0, true}, {decVal(-15, 1), intVal(-1), -1, true},
		{floatVal(math.NaN()), floatVal(1), 0, false}, {intVal(1), null, 0, false},
		{textVal("a"), textVal("a "), -1, true}, {textVal("Z"), textVal("a"), -1, true},
		{textVal("1"), intVal(1), 0, false},
		{day, Value{Kind: column.Timestamp, I: 86400e6}, 0, true},
		{day, Value{Kind: column.TimestampMilli, I: 86400e6 + 1}, -1, true},
		{day, Value{Kind: column.Date, I: 2}, -1, true}, {day, intVal(1), 0, false},
		{Value{Kind: column.Date, I: math.MaxInt32}, Value{Kind: column.Timestamp, I: math.MaxInt64}, 1, true},
		{Value{Kind: column.Time, I: 1}, Value{Kind: column.Time, I: 1}, 0, true},
		{Value{Kind: column.Time, I: 1}, Value{Kind: column.Timestamp, I: 1}, 0, false},
		{Value{Kind: column.List}, Value{Kind: column.List}, 0, false},
	} {
		got, ok := Compare(c.a, c.b)
		back, _ := Compare(c.b, c.a)
		if got != c.want || ok != c.ok || back != -c.want {
			t.Errorf("Compare(%v, %v) = %d, %v (back %d); want %d, %v", c.a, c.b, got, ok, back, c.want, c.ok)
		}
	}
}

type oneColumn struct {
	rows int64
	st   ColumnStats
	ok   bool
}

func (s oneColumn) Rows() int64                       { return s.rows }
func (s oneColumn) Column(string) (ColumnStats, bool) { return s.st, s.ok }

func TestPrune(t *testing.T) {
	ints := func(nulls, lo, hi int64) oneColumn {
		return oneColumn{10, ColumnStats{Rows: 10, Nulls: nulls, Min: intVal(lo), Max: intVal(hi), HasRange: true}, true}
	}
	texts := func(lo, hi string) oneColumn {
		return oneColumn{10, ColumnStats{Rows: 10, Min: textVal(lo), Max: textVal(hi), HasRange: true}, true}
	}
	nan := oneColumn{10, ColumnStats{Rows: 10, Min: floatVal(-1), Max: floatVal(5), HasRange: true, MayNaN: true}, true}
	tainted := oneColumn{10, ColumnStats{Rows: 10, Min: floatVal(math.NaN()), Max: floatVal(5), HasRange: true}, true}
	allNull := oneColumn{10, ColumnStats{Rows: 10, Nulls: 10}, true}
	unknown := oneColumn{10, ColumnStats{}, false}
	for _, c := range []struct {
		s    oneColumn
		p    *Predicate
		want Answer
	}{
		{ints(0, 1, 5), leafOf(Eq, intVal(6)), No}, {ints(0, 1, 5), leafOf(Eq, intVal(5)), Unknown}, {ints(0, 5, 5), leafOf(Eq, intVal(5)), Yes},
		{ints(1, 5, 5), leafOf(Eq, intVal(5)), Unknown}, {ints(-1, 5, 5), leafOf(Eq, intVal(5)), Unknown},
		{ints(0, 1, 5), leafOf(Ne, intVal(6)), Yes}, {ints(3, 5, 5), leafOf(Ne, intVal(5)), No},
		{ints(0, 1, 5), leafOf(Lt, intVal(1)), No}, {ints(0, 1, 5), leafOf(Lt, intVal(6)), Yes}, {ints(0, 1, 5), leafOf(Le, floatVal(4.5)), Unknown},
		{ints(0, 1, 5), leafOf(Gt, intVal(5)), No}, {ints(0, 1, 5), leafOf(Ge, decVal(10, 1)), Yes},
		{ints(0, 1, 5), leafOf(In, intVal(0), intVal(6)), No}, {ints(0, 1, 5), leafOf(In, intVal(0), intVal(3)), Unknown},
		{ints(0, 5, 5), leafOf(In, null, intVal(5)), Yes}, {ints(0, 1, 5), leafOf(In), No}, {ints(0, 1, 5), leafOf(Eq, null), No},
		// NOT of something unknown for nulls is not true for them.
		{ints(1, 1, 5), not(leafOf(Gt, intVal(9))), Unknown}, {ints(0, 1, 5), not(leafOf(Gt, intVal(9))), Yes}, {ints(1, 1, 5), not(leafOf(Lt, intVal(9))), No},
		{ints(0, 1, 5), not(leafOf(In, intVal(9), null)), No},
		{ints(0, 1, 5), leafOf(IsNull), No}, {ints(-1, 1, 5), leafOf(IsNull), Unknown}, {allNull, leafOf(IsNull), Yes}, {allNull, not(leafOf(IsNull)), No},
		{allNull, leafOf(Eq, intVal(1)), No}, {allNull, not(leafOf(Eq, intVal(1))), No}, {allNull, leafOf(NullSafeEq, null), Yes}, {allNull, leafOf(NullSafeEq, intVal(1)), No},
		{ints(0, 5, 5), leafOf(NullSafeEq, intVal(5)), Yes}, {ints(2, 5, 5), not(leafOf(NullSafeEq, intVal(6))), Yes},
		{texts("app", "apq"), leafOf(Prefix, textVal("ap")), Yes}, {texts("aa", "ao"), leafOf(Prefix, textVal("ap")), No},
		{texts("aq", "b"), leafOf(Prefix, textVal("ap")), No}, {texts("a", "b"), leafOf(Prefix, textVal("ap")), Unknown},
		{nan, leafOf(Gt, floatVal(4)), Unknown}, {nan, leafOf(Gt, floatVal(5)), No}, {nan, leafOf(Le, floatVal(5)), Unknown}, {nan, not(leafOf(Le, floatVal(5))), No},
		{tainted, leafOf(Gt, floatVal(5)), Unknown}, {unknown, leafOf(Eq, intVal(1)), Unknown},
		{texts("a", "b"), leafOf(Eq, intVal(1)), Unknown}, // another type
		{ints(0, 9, 1), leafOf(Eq, intVal(100)), Unknown}, // bounds out of order
		{ints(0, 1, 5), and(leafOf(Gt, intVal(9)), unknownLeaf()), No}, {ints(0, 1, 5), or(leafOf(Lt, intVal(9)), unknownLeaf()), Yes},
		{ints(0, 1, 5), and(), Yes}, {ints(0, 1, 5), or(), No}, {ints(0, 1, 5), nil, Yes},
		{oneColumn{}, leafOf(IsNull), No}, {ints(0, 1, 5), leafOf(Eq), Unknown}, {ints(0, 1, 5), &Predicate{Op: 99}, Unknown},
	} {
		if got := c.p.Prune(c.s); got != c.want {
			t.Errorf("%s under %+v: %s, want %s", c.p, c.s.st, got, c.want)
		}
	}
}

// unknownLeaf is a comparison that statistics say nothing of: kinds do not match.
func unknownLeaf() *Predicate { return leafOf(Eq, textVal("x")) }

func TestString(t *testing.T) {
	for _, c := range []struct {
		p    *Predicate
		want string
	}{
		{nil, "TRUE"}, {or(), "FALSE"},
		{and(leafOf(Eq, intVal(5)), or(leafOf(Lt, textVal("it's")), not(leafOf(IsNull)))), "a = 5 AND (a < 'it''s' OR a IS NOT NULL)"},
		{not(and(leafOf(Ge, decVal(150, 2)), leafOf(IsNull))), "NOT (a >= 1.50 AND a IS NULL)"},
		{not(leafOf(In, intVal(1), null)), "a NOT IN (1, NULL)"},
		{leafOf(Prefix, textVal("5%_")), `a LIKE '5\%\_%'`},
		{&Predicate{Op: NullSafeEq, Column: "odd name", Values: []Value{{Kind: column.Date, I: 18661}}}, "`odd name` <=> '2021-02-03'"},
		{leafOf(Ne, Value{Kind: column.TimestampMilli, I: 1500}), "a <> '1970-01-01 00:00:00.001500'"},
		{leafOf(Gt, Value{Kind: column.Time, I: 3661e6}), "a > '01:01:01.000000'"},
		{leafOf(Le, Value{Kind: column.Binary, B: []byte{0, 255}}), "a <= x'00ff'"},
		{leafOf(Eq, Value{Kind: column.Bool, I: 1}), "a = TRUE"}, {leafOf(Eq, floatVal(1.5)), "a = 1.5"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	p := and(leafOf(Eq, intVal(1)), not(or(&Predicate{Op: IsNull, Column: "b"}, leafOf(IsNull))))
	if got := p.Columns(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

func TestEvalRefuses(t *testing.T) {
	list := column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: column.Type{Kind: column.Int32}}}}
	for _, c := range []struct {
		typ column.Type
		p   *Predicate
	}{
		{column.Type{Kind: column.Int32}, leafOf(Eq, textVal("1"))}, {column.Type{Kind: column.Int32}, leafOf(Prefix, textVal("1"))},
		{column.Type{Kind: column.String}, leafOf(Prefix, intVal(1))}, {column.Type{Kind: column.Int32}, leafOf(Eq)},
		{column.Type{Kind: column.Int32}, &Predicate{Op: IsNull, Column: "b"}}, {column.Type{Kind: column.Int32}, &Predicate{Op: Not}},
		{list, leafOf(Eq, null)}, {column.Type{Kind: column.Int32}, and(not(leafOf(Lt, Value{Kind: column.Date})))},
	} {
		s := &column.Schema{Fields: []column.Field{{Name: "a", Type: c.typ, Nullable: true}}}
		b := &column.Batch{Schema: s, Cols: []*column.Vector{column.Nulls(c.typ, 3)}, Len: 3}
		if got, err := c.p.Eval(b, nil); !errors.Is(err, ErrPredicate) {
			t.Errorf("%s on %s: %v, %v; want ErrPredicate", c.p, c.typ, got, err)
		}
	}
}

func TestEvaluatorLooksAtAnEntryOnce(t *testing.T) {
	typ := column.Type{Kind: column.String}
	b := column.NewDictBuilder(typ, 0)
	for _, s := range []string{"x", "y", "x", "y"} {
		b.AppendBytes([]byte(s))
	}
	v := b.Finish()
	s := &column.Schema{Fields: []column.Field{{Name: "a", Type: typ}}}
	p := leafOf(Eq, textVal("y"))
	e := NewEvaluator(p)
	batch := func(lo, hi int) *column.Batch {
		return &column.Batch{Schema: s, Cols: []*column.Vector{column.Slice(v, lo, hi)}, Len: hi - lo}
	}
	if got, err := e.Eval(batch(0, 2), nil); err != nil || !slices.Equal(got, []uint32{1}) {
		t.Fatalf("got %v, %v", got, err)
	}
	e.leaf[p].text.b = []byte("nothing") // what is known of x and y must do
	if got, err := e.Eval(batch(0, 4), nil); err != nil || !slices.Equal(got, []uint32{1, 3}) {
		t.Fatalf("got %v, %v", got, err)
	}
}

// The model: values as big.Rat, string or special floats, SQL's truth as -1 (null), 0, 1.

type cell struct {
	null, nan bool
	inf       int
	num       *big.Rat
	text      string
	isText    bool
}

func ratOf(v Value) cell {
	c := cell{null: v.Null}
	if v.Null {
		return c
	}
	switch v.Kind {
	case column.String, column.Binary:
		c.text, c.isText = string(v.B), true
	case column.Float32, column.Float64:
		switch {
		case math.IsNaN(v.F):
			c.nan = true
		case math.IsInf(v.F, 0):
			c.inf = 1
			if v.F < 0 {
				c.inf = -1
			}
		default:
			c.num = new(big.Rat).SetFloat64(v.F)
		}
	case column.Decimal:
		text := string(column.AppendDecimal(nil, v.D, v.Scale))
		c.num, _ = new(big.Rat).SetString(text)
	case column.Date:
		c.num = new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(v.I), big.NewInt(86400e6)), big.NewInt(1))
	default:
		c.num = new(big.Rat).SetInt64(v.I)
	}
	return c
}

func cellAt(v *column.Vector, i int) cell {
	if v.Null(i) {
		return cell{null: true}
	}
	switch v.Type.Kind {
	case column.Bool:
		if v.Bools[i] {
			return ratOf(intVal(1))
		}
		return ratOf(intVal(0))
	case column.Int32:
		return ratOf(intVal(int64(v.I32[i])))
	case column.Date:
		return ratOf(Value{Kind: column.Date, I: int64(v.I32[i])})
	case column.Float32:
		return ratOf(floatVal(float64(v.F32[i])))
	case column.Float64:
		return ratOf(floatVal(v.F64[i]))
	case column.Decimal:
		return ratOf(Value{Kind: column.Decimal, D: v.Decimal(i), Scale: v.Type.Scale})
	case column.TimestampMilli:
		return cell{num: new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(v.I64[i]), big.NewInt(1000)), big.NewInt(1))}
	case column.String, column.Binary:
		return ratOf(textVal(string(v.Bytes(i))))
	}
	return ratOf(intVal(v.I64[i]))
}

func (c cell) cmp(d cell) int {
	switch {
	case c.isText:
		return slices.Compare([]byte(c.text), []byte(d.text))
	case c.inf != d.inf:
		return big.NewInt(int64(c.inf)).Cmp(big.NewInt(int64(d.inf)))
	case c.inf != 0:
		return 0
	}
	return c.num.Cmp(d.num)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func naive(p *Predicate, row map[string]cell) int {
	switch p.Op {
	case And, Or:
		decisive := truth(p.Op == Or)
		out := 1 - decisive
		for _, a := range p.Args {
			switch r := naive(a, row); {
			case r == decisive:
				return decisive
			case r == -1:
				out = -1
			}
		}
		return out
	case Not:
		if r := naive(p.Args[0], row); r >= 0 {
			return 1 - r
		}
		return -1
	case IsNull:
		return truth(row[p.Column].null)
	case In:
		out := 0
		for _, v := range p.Values {
			switch naive(&Predicate{Op: Eq, Column: p.Column, Values: []Value{v}}, row) {
			case 1:
				return 1
			case -1:
				out = -1
			}
		}
		return out
	}
	x, c := row[p.Column], ratOf(p.Values[0])
	if p.Op == NullSafeEq {
		if x.null || c.null {
			return truth(x.null && c.null)
		}
		return truth(!x.nan && !c.nan && x.cmp(c) == 0)
	}
	if x.null || c.null || x.nan || c.nan {
		return -1
	}
	if p.Op == Prefix {
		return truth(len(x.text) >= len(c.text) && x.text[:len(c.text)] == c.text)
	}
	d := x.cmp(c)
	return truth(map[Op]bool{Eq: d == 0, Ne: d != 0, Lt: d < 0, Le: d <= 0, Gt: d > 0, Ge: d >= 0}[p.Op])
}

var testTypes = []column.Type{
	{Kind: column.Bool}, {Kind: column.Int32}, {Kind: column.Int64}, {Kind: column.Float32}, {Kind: column.Float64},
	{Kind: column.Decimal, Precision: 9, Scale: 2}, {Kind: column.Decimal, Precision: 38, Scale: 3},
	{Kind: column.String}, {Kind: column.Binary}, {Kind: column.Date}, {Kind: column.Time},
	{Kind: column.Timestamp}, {Kind: column.TimestampMilli},
}

var (
	genInt = rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64(),
		rapid.SampledFrom([]int64{1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt64, math.MinInt64}))
	genFloat = rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 2, -1, 0.5, 0.25, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1),
		1 << 53, 1 << 63, -1 << 63, math.MaxFloat64}), rapid.Float64(), rapid.Float64Range(-4, 4))
	genText = rapid.StringMatching(`[ab]{0,3}`)
)

// drawValue makes a constant that compares with a kind.
func drawValue(t *rapid.T, k column.Kind) Value {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return null
	}
	var kinds []column.Kind
	for _, typ := range testTypes {
		if classOf(typ.Kind) == classOf(k) {
			kinds = append(kinds, typ.Kind)
		}
	}
	v := Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch v.Kind {
	case column.String, column.Binary:
		v.B = []byte(genText.Draw(t, "text"))
	case column.Float32, column.Float64:
		v.F = genFloat.Draw(t, "float")
	case column.Decimal:
		v.D, v.Scale = column.Int128From(genInt.Draw(t, "unscaled")), rapid.IntRange(0, 38).Draw(t, "scale")
		if rapid.Bool().Draw(t, "hi") {
			v.D.Hi = genInt.Draw(t, "hi")
		}
	case column.Bool:
		v.I = int64(rapid.IntRange(0, 1).Draw(t, "bool"))
	case column.Int32, column.Date:
		v.I = int64(int32(genInt.Draw(t, "int")))
	case column.Timestamp, column.TimestampMilli:
		v.I = genInt.Draw(t, "µs")
		if rapid.Bool().Draw(t, "round") {
			v.I = v.I % 4 * 86400e6 // so that it may be equal to a date
		}
	default:
		v.I = genInt.Draw(t, "int")
	}
	return v
}

func drawVector(t *rapid.T, typ column.Type, n int) *column.Vector {
	b := column.NewBuilder(typ, n)
	if rapid.Bool().Draw(t, "dict") && classOf(typ.Kind) == text {
		b = column.NewDictBuilder(typ, n)
	}
	nulls := rapid.IntRange(0, 3).Draw(t, "nulls") // of three
	for b.Len() < n {
		if rapid.IntRange(0, 2).Draw(t, "null") < nulls {
			b.AppendNull()
			continue
		}
		switch typ.Kind {
		case column.Bool:
			b.AppendBool(rapid.Bool().Draw(t, "v"))
		case column.Int32, column.Date:
			b.AppendInt64(int64(int32(genInt.Draw(t, "v"))))
		case column.Float32, column.Float64:
			b.AppendFloat64(genFloat.Draw(t, "v"))
		case column.String, column.Binary:
			b.AppendBytes([]byte(genText.Draw(t, "v")))
		case column.Decimal:
			x := column.Int128From(genInt.Draw(t, "v"))
			if typ.WideDecimal() && rapid.Bool().Draw(t, "hi") {
				x.Hi = genInt.Draw(t, "hi")
			}
			b.AppendInt128(x)
		default:
			b.AppendInt64(genInt.Draw(t, "v"))
		}
	}
	return b.Finish()
}

func drawPredicate(t *rapid.T, s *column.Schema, depth int) *Predicate {
	op := Op(rapid.IntRange(0, int(Prefix)).Draw(t, "op"))
	if depth == 0 && op <= Not {
		op = Eq + op
	}
	p := &Predicate{Op: op}
	if op <= Not {
		n := 1
		if op != Not {
			n = rapid.IntRange(0, 3).Draw(t, "args")
		}
		for ; n > 0; n-- {
			p.Args = append(p.Args, drawPredicate(t, s, depth-1))
		}
		return p
	}
	f := s.Fields[rapid.IntRange(0, len(s.Fields)-1).Draw(t, "column")]
	p.Column = f.Name
	if op == Prefix && classOf(f.Type.Kind) != text {
		p.Op = Ge
	}
	switch p.Op {
	case IsNull:
	case In:
		for n := rapid.IntRange(0, 4).Draw(t, "list"); n > 0; n-- {
			p.Values = append(p.Values, drawValue(t, f.Type.Kind))
		}
	default:
		p.Values = []Value{drawValue(t, f.Type.Kind)}
	}
	return p
}

// batchStats are true statistics of a batch, less what the draw leaves out.
type batchStats struct {
	rows int64
	cols map[string]ColumnStats
}

func (s batchStats) Rows() int64 { return s.rows }
func (s batchStats) Column(name string) (ColumnStats, bool) {
	c, ok := s.cols[name]
	return c, ok
}

func statsOf(t *rapid.T, v *column.Vector) ColumnStats {
	st := ColumnStats{Rows: int64(v.Len), Nulls: int64(v.NullCount())}
	var lo, hi *cell
	for i := 0; i < v.Len; i++ {
		c := cellAt(v, i)
		switch {
		case c.null:
			continue
		case c.nan:
			st.MayNaN = true
			continue
		}
		if lo == nil || c.cmp(*lo) < 0 {
			lo = &c
		}
		if hi == nil || c.cmp(*hi) > 0 {
			hi = &c
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "no nulls known") == 0 {
		st.Nulls = -1
	}
	if lo == nil || rapid.IntRange(0, 9).Draw(t, "no range") == 0 {
		return st
	}
	var ok1, ok2 bool
	st.Min, ok1 = valueOf(v.Type, *lo)
	st.Max, ok2 = valueOf(v.Type, *hi)
	st.HasRange = ok1 && ok2
	if st.HasRange && classOf(v.Type.Kind) == text && rapid.Bool().Draw(t, "loose") {
		st.Max.B = append(st.Max.B, 'c') // a bound need not be a value
	}
	return st
}

// valueOf is the constant for a cell; false where it has none (ms that µs cannot say).
func valueOf(typ column.Type, c cell) (Value, bool) {
	v := Value{Kind: typ.Kind}
	switch {
	case c.isText:
		v.B = []byte(c.text)
		return v, true
	case isFloat(typ.Kind):
		v.F = math.Inf(c.inf)
		if c.inf == 0 {
			v.F, _ = c.num.Float64()
		}
		return v, true
	}
	n := new(big.Int)
	if typ.Kind == column.Decimal {
		scaled := new(big.Rat).Mul(c.num, new(big.Rat).SetInt64(1000))
		if typ.Scale == 2 {
			scaled = new(big.Rat).Mul(c.num, new(big.Rat).SetInt64(100))
		}
		n.Set(scaled.Num())
		hi := new(big.Int).Rsh(n, 64)
		v.D = column.Int128{Hi: hi.Int64(), Lo: new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()}
		v.Scale = typ.Scale
		return v, true
	}
	n.Set(c.num.Num())
	if typ.Kind == column.Date {
		n.Quo(n, big.NewInt(86400e6))
	}
	v.I = n.Int64()
	return v, n.IsInt64()
}

func TestEvalMatchesNaiveAndPruneDoesNotContradict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "rows")
		s := &column.Schema{}
		b := &column.Batch{Schema: s, Len: n}
		st := batchStats{rows: int64(n), cols: map[string]ColumnStats{}}
		for _, name := range []string{"a", "b"} {
			typ := rapid.SampledFrom(testTypes).Draw(t, "type")
			s.Fields = append(s.Fields, column.Field{Name: name, Type: typ, Nullable: true})
			v := drawVector(t, typ, n)
			b.Cols = append(b.Cols, v)
			if rapid.IntRange(0, 9).Draw(t, "no stats") > 0 {
				st.cols[name] = statsOf(t, v)
			}
		}
		p := drawPredicate(t, s, 3)
		var sel []uint32
		if rapid.Bool().Draw(t, "selection") {
			sel = []uint32{}
			for i := 0; i < n; i++ {
				if rapid.Bool().Draw(t, "in") {
					sel = append(sel, uint32(i))
				}
			}
		}
		want, all := []uint32{}, 0
		for i := 0; i < n; i++ {
			r := naive(p, map[string]cell{"a": cellAt(b.Cols[0], i), "b": cellAt(b.Cols[1], i)})
			if r == 1 {
				all++
				if sel == nil || slices.Contains(sel, uint32(i)) {
					want = append(want, uint32(i))
				}
			}
		}
		before := slices.Clone(sel)
		got, err := p.Eval(b, sel)
		if err != nil || got == nil || !slices.Equal(got, want) {
			t.Fatalf("%s: %v, %v; want %v", p, got, err, want)
		}
		if !slices.Equal(sel, before) {
			t.Fatal("the selection was changed")
		}
		switch a := p.Prune(st); {
		case a == No && all > 0:
			t.Fatalf("%s pruned, yet %d rows satisfy it; stats %+v", p, all, st.cols)
		case a == Yes && all < n:
			t.Fatalf("%s said to hold for all, yet only for %d of %d; stats %+v", p, all, n, st.cols)
		}
	})
}

// TestPruneOfSingleValues makes sure that the property above is not met by answering Unknown.
func TestPruneOfSingleValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, c := genInt.Draw(t, "x"), genInt.Draw(t, "c")
		s := oneColumn{1, ColumnStats{Rows: 1, Min: intVal(x), Max: intVal(x), HasRange: true}, true}
		op := Op(rapid.IntRange(int(Eq), int(Ge)).Draw(t, "op"))
		p := leafOf(op, intVal(c))
		want := No
		if naive(p, map[string]cell{"a": ratOf(intVal(x))}) == 1 {
			want = Yes
		}
		if got := p.Prune(s); got != want {
			t.Fatalf("%s of %d: %s, want %s", p, x, got, want)
		}
	})
}
