package predicate

import (
	"bytes"
	"math"

	"github.com/shoaldb/shoal/layout/column"
)

// ValueOf is the value of a row as a predicate compares it. It is false for a null, a NaN and a
// nested value, with which nothing compares.
func ValueOf(v *column.Vector, i int) (Value, bool) {
	x := Value{Kind: v.Type.Kind}
	if v.Null(i) {
		return x, false
	}
	switch v.Type.Kind {
	case column.Bool:
		if v.Bools[i] {
			x.I = 1
		}
	case column.Int32, column.Date:
		x.I = int64(v.I32[i])
	case column.Int64, column.Time, column.Timestamp:
		x.I = v.I64[i]
	case column.TimestampMilli:
		// Values count µs whatever the vector's unit.
		x.Kind = column.Timestamp
		if ms := v.I64[i]; ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 {
			return x, false
		}
		x.I = 1000 * v.I64[i]
	case column.Float32:
		x.Kind, x.F = column.Float64, float64(v.F32[i])
	case column.Float64:
		x.F = v.F64[i]
	case column.Decimal:
		x.D, x.Scale = v.Decimal(i), v.Type.Scale
	case column.String, column.Binary:
		x.B = bytes.Clone(v.Bytes(i))
	default:
		return x, false
	}
	return x, !math.IsNaN(x.F)
}
