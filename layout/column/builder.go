package column

import (
	"fmt"
	"math"
)

// A Builder makes one Vector, row by row or vector by vector. Every call must fit the builder's
// type; a call that does not is a mistake in the program and panics. A Builder is for one goroutine.
type Builder struct {
	v        Vector
	intern   *interner  // of a dictionary builder that still interns
	children []*Builder // of nested types
	remap    remapper
}

// NewBuilder returns a builder with room for capacity rows. Strings and binaries are built plain.
func NewBuilder(t Type, capacity int) *Builder {
	b := &Builder{v: Vector{Type: t}}
	v := &b.v
	switch t.Kind {
	case Bool:
		v.Bools = make([]bool, 0, capacity)
	case Int32, Date:
		v.I32 = make([]int32, 0, capacity)
	case Int64, Time, Timestamp, TimestampMilli:
		v.I64 = make([]int64, 0, capacity)
	case Float32:
		v.F32 = make([]float32, 0, capacity)
	case Float64:
		v.F64 = make([]float64, 0, capacity)
	case Decimal:
		if t.WideDecimal() {
			v.Dec = make([]Int128, 0, capacity)
		} else {
			v.I64 = make([]int64, 0, capacity)
		}
	case String, Binary:
		v.Str.Offsets = append(make([]uint32, 0, capacity+1), 0)
	case List, Map:
		v.Offsets = append(make([]int32, 0, capacity+1), 0)
		fallthrough
	case Struct:
		b.children = make([]*Builder, len(t.Fields))
		for i, f := range t.Fields {
			b.children[i] = NewBuilder(f.Type, capacity)
		}
	default:
		panic(fmt.Sprintf("column: builder of type %s", t))
	}
	return b
}

// NewDictBuilder is NewBuilder for a String or Binary that interns values into a dictionary, for
// text that comes without one (SQL rows, CSV). When the values turn out to repeat too little for a
// dictionary to pay, the result is plain after all.
func NewDictBuilder(t Type, capacity int) *Builder {
	if t.Kind != String && t.Kind != Binary {
		panic(fmt.Sprintf("column: dictionary of type %s", t))
	}
	return &Builder{
		v:      Vector{Type: t, Codes: make([]uint32, 0, capacity)},
		intern: newInterner(0),
	}
}

// Len returns the number of rows appended.
func (b *Builder) Len() int { return b.v.Len }

// Type returns the type being built.
func (b *Builder) Type() Type { return b.v.Type }

// Finish returns the rows appended. The builder must not be used afterwards.
func (b *Builder) Finish() *Vector {
	v := b.v
	if b.intern != nil {
		v.Dict = &Dictionary{b.intern.values}
	}
	if b.children != nil {
		v.Children = make([]*Vector, len(b.children))
		for i, c := range b.children {
			v.Children[i] = c.Finish()
		}
	}
	b.v, b.intern, b.children = Vector{Type: b.v.Type}, nil, nil
	return &v
}

// present counts a row that is not null.
func (b *Builder) present() {
	i := b.v.Len
	b.v.Len++
	if b.v.Valid != nil {
		b.growValid()
		b.v.Valid.Set(i)
	}
}

func (b *Builder) growValid() {
	for len(b.v.Valid)*64 < b.v.Len {
		b.v.Valid = append(b.v.Valid, 0)
	}
}

// absent counts a row that is null.
func (b *Builder) absent() {
	if b.v.Valid == nil {
		b.v.Valid = filledBitmap(b.v.Len)
	}
	b.v.Len++
	b.growValid()
	b.v.Valid.Clear(b.v.Len - 1)
}

// AppendNull appends a null row.
func (b *Builder) AppendNull() {
	b.absent()
	v := &b.v
	switch v.Type.Kind {
	case Bool:
		v.Bools = append(v.Bools, false)
	case Int32, Date:
		v.I32 = append(v.I32, 0)
	case Int64, Time, Timestamp, TimestampMilli:
		v.I64 = append(v.I64, 0)
	case Float32:
		v.F32 = append(v.F32, 0)
	case Float64:
		v.F64 = append(v.F64, 0)
	case Decimal:
		if v.Type.WideDecimal() {
			v.Dec = append(v.Dec, Int128{})
		} else {
			v.I64 = append(v.I64, 0)
		}
	case String, Binary:
		if b.intern != nil {
			v.Codes = append(v.Codes, 0)
		} else {
			v.Str.Offsets = append(v.Str.Offsets, uint32(len(v.Str.Bytes)))
		}
	case List, Map:
		v.Offsets = append(v.Offsets, v.Offsets[len(v.Offsets)-1])
	case Struct:
		for _, c := range b.children {
			c.AppendNull()
		}
	}
}

func (b *Builder) wrong(call string) {
	panic(fmt.Sprintf("column: %s on a builder of type %s", call, b.v.Type))
}

// AppendBool appends a Bool.
func (b *Builder) AppendBool(x bool) {
	if b.v.Type.Kind != Bool {
		b.wrong("AppendBool")
	}
	b.v.Bools = append(b.v.Bools, x)
	b.present()
}

// AppendInt64 appends a value of a kind stored as an integer: Int32, Int64, Date, Time, the
// timestamps, and the unscaled value of a Decimal. The caller has checked that it fits.
func (b *Builder) AppendInt64(x int64) {
	switch b.v.Type.Kind {
	case Int32, Date:
		b.v.I32 = append(b.v.I32, int32(x))
	case Int64, Time, Timestamp, TimestampMilli:
		b.v.I64 = append(b.v.I64, x)
	case Decimal:
		if b.v.Type.WideDecimal() {
			b.v.Dec = append(b.v.Dec, Int128From(x))
		} else {
			b.v.I64 = append(b.v.I64, x)
		}
	default:
		b.wrong("AppendInt64")
	}
	b.present()
}

// AppendFloat64 appends a Float64, or a Float32 rounded to the nearest.
func (b *Builder) AppendFloat64(x float64) {
	switch b.v.Type.Kind {
	case Float32:
		b.v.F32 = append(b.v.F32, float32(x))
	case Float64:
		b.v.F64 = append(b.v.F64, x)
	default:
		b.wrong("AppendFloat64")
	}
	b.present()
}

// AppendInt128 appends the unscaled value of a Decimal. The caller has checked that it fits.
func (b *Builder) AppendInt128(x Int128) {
	if b.v.Type.Kind != Decimal {
		b.wrong("AppendInt128")
	}
	if b.v.Type.WideDecimal() {
		b.v.Dec = append(b.v.Dec, x)
	} else {
		b.v.I64 = append(b.v.I64, int64(x.Lo))
	}
	b.present()
}

// AppendBytes appends a String or Binary, copying it.
func (b *Builder) AppendBytes(x []byte) {
	switch {
	case b.intern != nil:
		b.v.Codes = append(b.v.Codes, b.intern.code(x))
		b.present()
		b.reviewDictionary()
	case b.v.Type.Kind == String || b.v.Type.Kind == Binary:
		checkStringBytes(len(b.v.Str.Bytes) + len(x))
		b.v.Str.Append(x)
		b.present()
	default:
		b.wrong("AppendBytes")
	}
}

// reviewDictionary gives up interning when it does not pay.
func (b *Builder) reviewDictionary() {
	n := b.intern.values.Len()
	if n&(n-1) == 0 && n > smallDictionary && n > b.v.Len/2 {
		b.toPlain()
	}
}

func (b *Builder) toPlain() {
	dict := b.intern.values
	offsets := make([]uint32, 1, cap(b.v.Codes)+1)
	data := make([]byte, 0, len(dict.Bytes)*2)
	for i, c := range b.v.Codes {
		if !b.v.Null(i) {
			checkStringBytes(len(data) + len(dict.At(int(c))))
			data = append(data, dict.At(int(c))...)
		}
		offsets = append(offsets, uint32(len(data)))
	}
	b.v.Str, b.v.Codes, b.intern = Strings{Offsets: offsets, Bytes: data}, nil, nil
}

// AppendFrom appends row i of a vector of the builder's type.
func (b *Builder) AppendFrom(v *Vector, i int) {
	if v.Type.Kind != b.v.Type.Kind {
		b.wrong("AppendFrom of " + v.Type.String())
	}
	if v.Null(i) {
		b.AppendNull()
		return
	}
	switch v.Type.Kind {
	case Bool:
		b.AppendBool(v.Bools[i])
	case Int32, Date:
		b.AppendInt64(int64(v.I32[i]))
	case Int64, Time, Timestamp, TimestampMilli:
		b.AppendInt64(v.I64[i])
	case Float32:
		b.v.F32 = append(b.v.F32, v.F32[i])
		b.present()
	case Float64:
		b.AppendFloat64(v.F64[i])
	case Decimal:
		b.AppendInt128(v.Decimal(i))
	case String, Binary:
		if b.intern != nil && v.Dict != nil {
			b.v.Codes = append(b.v.Codes, b.remap.one(b.intern, v.Dict, v.Codes[i]))
			b.present()
			b.reviewDictionary()
			return
		}
		b.AppendBytes(v.Bytes(i))
	case List, Map:
		lo, hi := int(v.Offsets[i]), int(v.Offsets[i+1])
		for j, c := range b.children {
			for k := lo; k < hi; k++ {
				c.AppendFrom(v.Children[j], k)
			}
		}
		b.closeEntry()
	case Struct:
		for j, c := range b.children {
			c.AppendFrom(v.Children[j], i)
		}
		b.present()
	}
}

// closeEntry ends the current row of a List or Map at the rows its children have now.
func (b *Builder) closeEntry() {
	n := b.children[0].Len()
	if n > math.MaxInt32 {
		panic("column: more than 2^31-1 nested values in one vector")
	}
	b.v.Offsets = append(b.v.Offsets, int32(n))
	b.present()
}

// AppendVector appends all rows of a vector of the builder's type.
func (b *Builder) AppendVector(v *Vector) {
	if v.Type.Kind != b.v.Type.Kind || v.Type.WideDecimal() != b.v.Type.WideDecimal() {
		b.wrong("AppendVector of " + v.Type.String())
	}
	out := &b.v
	switch v.Type.Kind {
	case Bool:
		out.Bools = append(out.Bools, v.Bools[:v.Len]...)
	case Int32, Date:
		out.I32 = append(out.I32, v.I32[:v.Len]...)
	case Float32:
		out.F32 = append(out.F32, v.F32[:v.Len]...)
	case Float64:
		out.F64 = append(out.F64, v.F64[:v.Len]...)
	case Int64, Time, Timestamp, TimestampMilli, Decimal:
		if v.Type.WideDecimal() {
			out.Dec = append(out.Dec, v.Dec[:v.Len]...)
		} else {
			out.I64 = append(out.I64, v.I64[:v.Len]...)
		}
	default:
		for i := 0; i < v.Len; i++ {
			b.AppendFrom(v, i)
		}
		return
	}
	b.appendValid(v)
}

// appendValid counts the rows of a vector whose values are appended already.
func (b *Builder) appendValid(v *Vector) {
	n := b.v.Len
	if v.Valid == nil && b.v.Valid == nil {
		b.v.Len += v.Len
		return
	}
	if b.v.Valid == nil {
		b.v.Valid = filledBitmap(n)
	}
	b.v.Len += v.Len
	b.growValid()
	for i := 0; i < v.Len; i++ {
		if v.Null(i) {
			b.v.Valid.Clear(n + i)
		} else {
			b.v.Valid.Set(n + i)
		}
	}
}

// truncate drops all rows from row n on.
func (b *Builder) truncate(n int) {
	v := &b.v
	v.Len = n
	if v.Valid != nil {
		v.Valid = v.Valid[:(n+63)/64]
	}
	switch v.Type.Kind {
	case Bool:
		v.Bools = v.Bools[:n]
	case Int32, Date:
		v.I32 = v.I32[:n]
	case Int64, Time, Timestamp, TimestampMilli:
		v.I64 = v.I64[:n]
	case Float32:
		v.F32 = v.F32[:n]
	case Float64:
		v.F64 = v.F64[:n]
	case Decimal:
		if v.Type.WideDecimal() {
			v.Dec = v.Dec[:n]
		} else {
			v.I64 = v.I64[:n]
		}
	case String, Binary:
		if b.intern != nil {
			v.Codes = v.Codes[:n]
			return
		}
		v.Str.Offsets = v.Str.Offsets[:n+1]
		v.Str.Bytes = v.Str.Bytes[:v.Str.Offsets[n]]
	case List, Map:
		v.Offsets = v.Offsets[:n+1]
		for _, c := range b.children {
			c.truncate(int(v.Offsets[n]))
		}
	case Struct:
		for _, c := range b.children {
			c.truncate(n)
		}
	}
}

func filledBitmap(n int) Bitmap {
	b := make(Bitmap, (n+63)/64)
	for i := range b {
		b[i] = math.MaxUint64
	}
	return b
}
