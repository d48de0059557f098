package sqltable

import (
	"context"
	"math"
	"math/big"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"

	"github.com/shoaldb/shoal/layout/column"
)

const secondsPerDay = 24 * 60 * 60

// A cell gives row i of one vector as the Go value that go-mysql-server keeps for the column's
// type. The row is not null.
type cell func(i int) any

// A cellReader turns the vectors of one column into cells. It keeps what carries over from batch
// to batch (the boxed entries of a shared dictionary), so it belongs to one scan.
type cellReader struct {
	typ  sql.Type
	dict *column.Dictionary
	box  []any // by code; nil where not boxed yet
}

// bind prepares reading a vector.
func (r *cellReader) bind(v *column.Vector) cell {
	switch v.Type.Kind {
	case column.Bool:
		return func(i int) any {
			if v.Bools[i] {
				return int8(1)
			}
			return int8(0)
		}
	case column.Int32:
		return int32Cell(v, r.typ.Type() == sqltypes.Year, r.typ)
	case column.Int64:
		if r.typ.Type() == sqltypes.Uint32 {
			return func(i int) any { return uint32(v.I64[i]) }
		}
		return func(i int) any { return v.I64[i] }
	case column.Float32:
		return func(i int) any {
			if f := v.F32[i]; f == f {
				return f
			}
			return nil // MySQL has no NaN
		}
	case column.Float64:
		return func(i int) any {
			if f := v.F64[i]; f == f {
				return f
			}
			return nil
		}
	case column.Decimal:
		return decimalCell(v, r.typ)
	case column.String:
		return r.textCell(v)
	case column.Binary:
		return func(i int) any { return append([]byte(nil), v.Bytes(i)...) }
	case column.Date:
		return func(i int) any { return time.Unix(int64(v.I32[i])*secondsPerDay, 0).UTC() }
	case column.Time:
		return func(i int) any { return types.Timespan(v.I64[i]) }
	case column.Timestamp:
		return func(i int) any { return time.UnixMicro(v.I64[i]).UTC() }
	case column.TimestampMilli:
		return func(i int) any { return time.UnixMilli(v.I64[i]).UTC() }
	default:
		return func(i int) any { return types.NewLazyJSONDocument(column.AppendJSON(nil, v, i)) }
	}
}

func int32Cell(v *column.Vector, year bool, t sql.Type) cell {
	if year {
		return func(i int) any { return int16(v.I32[i]) }
	}
	switch t.Type() {
	case sqltypes.Int8:
		return func(i int) any { return int8(v.I32[i]) }
	case sqltypes.Int16:
		return func(i int) any { return int16(v.I32[i]) }
	case sqltypes.Uint8:
		return func(i int) any { return uint8(v.I32[i]) }
	case sqltypes.Uint16:
		return func(i int) any { return uint16(v.I32[i]) }
	case sqltypes.Uint24:
		return func(i int) any { return uint32(v.I32[i]) }
	}
	return func(i int) any { return v.I32[i] }
}

func decimalCell(v *column.Vector, t sql.Type) cell {
	scale := int32(v.Type.Scale)
	if types.IsTextOnly(t) {
		return func(i int) any { return string(column.AppendDecimal(nil, v.Decimal(i), int(scale))) }
	}
	if t.Type() == sqltypes.Uint64 {
		return func(i int) any { return v.Decimal(i).Lo }
	}
	if !v.Type.WideDecimal() {
		return func(i int) any { return decimal.New(v.I64[i], -scale) }
	}
	return func(i int) any { return decimal.NewFromBigInt(bigInt(v.Dec[i]), -scale) }
}

func bigInt(a column.Int128) *big.Int {
	b := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(a.Lo))
}

// textCell reads a String column. A dictionary entry is boxed once a scan and not once a row.
func (r *cellReader) textCell(v *column.Vector) cell {
	one := r.text
	if v.Dict == nil {
		return func(i int) any { return one(v.Str.At(i)) }
	}
	if r.dict != v.Dict {
		r.dict, r.box = v.Dict, make([]any, v.Dict.Len())
	}
	return func(i int) any {
		code := v.Codes[i]
		if r.box[code] == nil {
			r.box[code] = one(v.Dict.At(int(code)))
		}
		return r.box[code]
	}
}

func (r *cellReader) text(b []byte) any {
	switch t := r.typ.(type) {
	case sql.EnumType:
		if i := t.IndexOf(string(b)); i > 0 {
			return uint16(i)
		}
		return uint16(0) // a value that is no member shows as ''
	case sql.SetType:
		bits, _, err := t.Convert(context.Background(), string(b))
		if err != nil {
			return uint64(0)
		}
		return bits
	}
	if types.IsJSON(r.typ) {
		return types.NewLazyJSONDocument(append([]byte(nil), b...))
	}
	return string(b)
}

// rowReader turns batches into rows of the given columns.
type rowReader struct {
	cols []*cellReader
}

func newRowReader(schema sql.Schema) *rowReader {
	r := &rowReader{cols: make([]*cellReader, len(schema))}
	for i, c := range schema {
		r.cols[i] = &cellReader{typ: c.Type}
	}
	return r
}

// rows converts a whole batch. The rows share one allocation of cells and do not refer to the
// batch.
func (r *rowReader) rows(b *column.Batch) []sql.Row {
	n := len(r.cols)
	out := make([]sql.Row, b.Len)
	cells := make([]any, n*b.Len)
	for i := range out {
		out[i] = cells[i*n : (i+1)*n : (i+1)*n]
	}
	for j, c := range r.cols {
		v := b.Cols[j]
		get := c.bind(v)
		if v.Valid == nil {
			for i := 0; i < b.Len; i++ {
				cells[i*n+j] = get(i)
			}
			continue
		}
		for i := 0; i < b.Len; i++ {
			if v.Valid.Get(i) {
				cells[i*n+j] = get(i)
			}
		}
	}
	return out
}

// int128 converts a decimal to the unscaled value of the given scale; ok is false when digits
// would be lost or the value does not fit.
func int128(d decimal.Decimal, scale int) (column.Int128, bool) {
	coef, exp := d.Coefficient(), int64(d.Exponent())+int64(scale)
	if coef.Sign() == 0 {
		return column.Int128{}, true
	}
	switch {
	case exp > 40 || exp < -400:
		return column.Int128{}, false
	case exp > 0:
		coef.Mul(coef, new(big.Int).Exp(big.NewInt(10), big.NewInt(exp), nil))
	case exp < 0:
		var rest big.Int
		coef.QuoRem(coef, new(big.Int).Exp(big.NewInt(10), big.NewInt(-exp), nil), &rest)
		if rest.Sign() != 0 {
			return column.Int128{}, false
		}
	}
	if coef.BitLen() > 127 {
		return column.Int128{}, false
	}
	var lo, hi big.Int
	mask := new(big.Int).SetUint64(math.MaxUint64)
	lo.And(coef, mask) // two's complement, also for negative numbers
	hi.Rsh(coef, 64)
	return column.Int128{Hi: hi.Int64(), Lo: lo.Uint64()}, true
}
