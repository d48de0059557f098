package basefile

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/schema"
)

// RowGroupStats gives the statistics of a row group's columns, from the footer.
func (x *File) RowGroupStats(i int) predicate.Stats { return rowGroupStats{x, i} }

type rowGroupStats struct {
	x *File
	i int
}

func (s rowGroupStats) Rows() int64 { return s.x.meta.RowGroups[s.i].NumRows }

func (s rowGroupStats) Column(name string) (predicate.ColumnStats, bool) {
	c := s.x.schema.Index(name)
	if c < 0 {
		return predicate.ColumnStats{}, false
	}
	st, r := s.x.chunkStats(s.i, s.x.fields[c])
	return withRange(st, s.x.fields[c], r), true
}

// Stats gives the statistics of the whole file by column: what is unknown of one row group is unknown.
func (x *File) Stats() map[string]predicate.ColumnStats {
	out := make(map[string]predicate.ColumnStats, len(x.fields))
	for _, f := range x.fields {
		var sum predicate.ColumnStats
		var r valueRange
		ranged := true
		for i := range x.meta.RowGroups {
			st, ri := x.chunkStats(i, f)
			sum.Rows += st.Rows
			sum.Bytes += st.Bytes
			sum.MayNaN = sum.MayNaN || st.MayNaN
			if st.Nulls < 0 || sum.Nulls < 0 {
				sum.Nulls = -1
			} else {
				sum.Nulls += st.Nulls
			}
			if !ri.has && st.Nulls != st.Rows {
				ranged = false
			}
			r.add(ri, formOf(f.Type))
		}
		r.has = r.has && ranged
		out[f.Name] = withRange(sum, f, r)
	}
	return out
}

// chunkStats reads the statistics of one column in one row group. The range is not put into the
// first result, so that ranges can still be joined.
func (x *File) chunkStats(rg int, f *schema.ParquetField) (st predicate.ColumnStats, r valueRange) {
	g := &x.meta.RowGroups[rg]
	st = predicate.ColumnStats{Rows: g.NumRows, Nulls: -1}
	for _, leaf := range f.Leaves(nil) {
		st.Bytes += g.Columns[leaf.Leaf].MetaData.TotalCompressedSize
	}
	if f.Leaf < 0 {
		return st, r // a leaf's null count and bounds say little of the rows above it
	}
	md := &g.Columns[f.Leaf].MetaData
	switch n := md.Statistics.NullCount; {
	case f.Def == 0:
		st.Nulls = 0
	case n.Valid && n.V >= 0 && n.V <= g.NumRows:
		st.Nulls = n.V
	}
	// No statistics tell whether there are NaNs.
	st.MayNaN = f.Type.Kind == column.Float32 || f.Type.Kind == column.Float64
	if st.Nulls != g.NumRows {
		r = fileRange(f, &md.Statistics, x.ordered[f.Leaf])
	}
	return st, r
}

// fileRange takes the bounds of a column chunk where they can be trusted to bound by the engine's order.
func fileRange(f *schema.ParquetField, s *statistics, ordered bool) (r valueRange) {
	lo, hi := s.MinValue, s.MaxValue
	if !ordered || !lo.Valid || !hi.Valid {
		// The older pair is in signed order whatever the type, which is right for plain numbers only.
		if lo, hi = s.Min, s.Max; f.Unsigned || f.Physical == format.ByteArray || f.Physical == format.FixedLenByteArray {
			return r
		}
	}
	if !lo.Valid || !hi.Valid {
		return r
	}
	a, okA := decodeBound(f, lo.V)
	b, okB := decodeBound(f, hi.V)
	if okA && okB && a.cmp(b, formOf(f.Type)) <= 0 {
		r = valueRange{min: a, max: b, has: true}
	}
	return r
}

// decodeBound reads a bound in PLAIN form, converted like the column's values. ok is false where the
// bytes are not one, or the type's statistics have no order to rely on.
func decodeBound(f *schema.ParquetField, v []byte) (b bound, ok bool) {
	switch f.Physical {
	case format.Boolean:
		if len(v) != 1 {
			return b, false
		}
		return bound{i: int64(v[0] & 1)}, true
	case format.Int32:
		if len(v) != 4 {
			return b, false
		}
		return intBound(f, int64(int32(binary.LittleEndian.Uint32(v)))), true
	case format.Int64:
		if len(v) != 8 {
			return b, false
		}
		return intBound(f, int64(binary.LittleEndian.Uint64(v))), true
	case format.Float:
		if len(v) != 4 {
			return b, false
		}
		x := math.Float32frombits(binary.LittleEndian.Uint32(v))
		return bound{f: float64(x)}, x == x
	case format.Double:
		if len(v) != 8 {
			return b, false
		}
		x := math.Float64frombits(binary.LittleEndian.Uint64(v))
		return bound{f: x}, x == x
	case format.ByteArray, format.FixedLenByteArray:
		return bytesBound(f, v)
	}
	return b, false // INT96 has no order
}

func intBound(f *schema.ParquetField, x int64) bound {
	switch f.Convert {
	case schema.UInt32:
		x = int64(uint32(x))
	case schema.UInt64:
		return bound{d: column.Int128{Lo: uint64(x)}}
	case schema.MilliToMicro:
		x *= 1000
	case schema.NanoToMicro:
		x = floorDiv(x, 1000)
	case schema.IntDecimal:
		return bound{i: x, d: column.Int128From(x)}
	}
	return bound{i: x}
}

func bytesBound(f *schema.ParquetField, v []byte) (b bound, ok bool) {
	switch f.Convert {
	case schema.BytesDecimal:
		if f.Physical == format.FixedLenByteArray && len(v) != f.Length || len(v) == 0 {
			return b, false
		}
		d, err := int128(v)
		if err != nil {
			return b, false
		}
		if !f.Type.WideDecimal() {
			if d.Hi != int64(d.Lo)>>63 {
				return b, false
			}
			b.i = int64(d.Lo)
		}
		b.d = d
		return b, true
	case schema.Float16:
		return b, false // writers disagreed on its order for long
	case schema.UUIDText:
		if len(v) != 16 {
			return b, false
		}
		var text [36]byte
		uuidText(&text, v)
		return bound{b: text[:]}, true
	}
	return bound{b: v}, true
}

// columnStats are a written column's statistics.
func (s *fieldStats) columnStats(f *schema.ParquetField) predicate.ColumnStats {
	st := predicate.ColumnStats{Rows: s.rows, Nulls: s.nulls, Bytes: s.bytes, MayNaN: s.r.nan}
	r := s.r
	if formOf(f.Type) == formStr && r.has {
		text := f.Type.Kind == column.String
		r.min.b, _ = cutDown(r.min.b, maxExactBound, text)
		r.max.b, _, r.has = cutUp(r.max.b, maxExactBound, text)
	}
	return withRange(st, f, r)
}

// withRange adds the range to a column's statistics.
func withRange(st predicate.ColumnStats, f *schema.ParquetField, r valueRange) predicate.ColumnStats {
	if !r.has || f.Type.Kind.Nested() {
		return st
	}
	a, okA := boundValue(f.Type, r.min)
	b, okB := boundValue(f.Type, r.max)
	if okA && okB {
		st.Min, st.Max, st.HasRange = a, b, true
	}
	return st
}

// boundValue makes a bound a predicate's value; timestamps count microseconds there.
func boundValue(t column.Type, b bound) (v predicate.Value, ok bool) {
	v.Kind = t.Kind
	switch formOf(t) {
	case formF32, formF64:
		v.F = b.f
	case formStr:
		v.B = b.b
	case formDec:
		v.D, v.Scale = b.d, t.Scale
	default:
		v.I = b.i
		switch t.Kind {
		case column.Decimal:
			v.I, v.D, v.Scale = 0, column.Int128From(b.i), t.Scale
		case column.TimestampMilli:
			if b.i > math.MaxInt64/1000 || b.i < math.MinInt64/1000 {
				return v, false
			}
			v.I = b.i * 1000
		}
	}
	return v, true
}
