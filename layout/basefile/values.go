package basefile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

const (
	// maxDecodedBytes bounds what one column of one row group may expand to, and one page.
	maxDecodedBytes = 1 << 30
	// maxEntries bounds the entries of a column chunk: a few bytes can stand for any number of nulls.
	maxEntries = 1 << 28
	// maxRowGroupBytes bounds what the chosen columns of one row group may expand to together.
	maxRowGroupBytes = 4 << 30
)

var errTooLarge = unsupported(fmt.Sprintf("a row group of the column expands to more than %d MiB", maxDecodedBytes>>20))

var errValuesShort = errors.New("values end too early")

// values are decoded values without nulls, in the storage form of the column's type: the slice that
// goes with the kind is in use (see column.Vector).
type values struct {
	bools []bool
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	dec   []column.Int128
	str   column.Strings
}

// form is the storage form of a kind.
type form uint8

const (
	formBool form = iota
	formI32
	formI64
	formF32
	formF64
	formDec
	formStr
)

func formOf(t column.Type) form {
	switch t.Kind {
	case column.Bool:
		return formBool
	case column.Int32, column.Date:
		return formI32
	case column.Float32:
		return formF32
	case column.Float64:
		return formF64
	case column.String, column.Binary:
		return formStr
	case column.Decimal:
		if t.WideDecimal() {
			return formDec
		}
	}
	return formI64
}

// width is the memory that a value takes, in bytes, without the text of strings.
func (f form) width() int64 {
	return [...]int64{formBool: 1, formI32: 4, formI64: 8, formF32: 4, formF64: 8, formDec: 16, formStr: 4}[f]
}

// valueDecoder decodes the values of one leaf's pages. Its scratch is reused from page to page.
type valueDecoder struct {
	leaf   *schema.ParquetField
	form   form
	bytes  []byte
	bits   []uint8
	deltas []int64
	text   column.Strings
}

// physicalWidth is the bytes of a PLAIN value, 0 where that varies.
func physicalWidth(f *schema.ParquetField) int {
	switch f.Physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return f.Length
	}
	return 0
}

// decode appends n values in one of the encodings other than dictionary codes.
func (d *valueDecoder) decode(dst *values, enc format.Encoding, src []byte, n int) error {
	switch d.leaf.Physical {
	case format.Boolean:
		return d.decodeBools(dst, enc, src, n)
	case format.ByteArray:
		return d.decodeByteArrays(dst, enc, src, n)
	}
	w := physicalWidth(d.leaf)
	switch enc {
	case format.Plain:
	case format.ByteStreamSplit:
		b, err := splitBytes(d.bytes, src, n, w)
		if err != nil {
			return err
		}
		d.bytes, src = b, b
	case format.DeltaBinaryPacked:
		if d.leaf.Physical != format.Int32 && d.leaf.Physical != format.Int64 {
			return fmt.Errorf("encoding %s of %s", enc, d.leaf.Physical)
		}
		v, _, err := decodeDelta(d.deltas, src, n)
		if err != nil {
			return err
		}
		d.deltas = v
		return d.appendInts(dst, v)
	case format.DeltaByteArray:
		if d.leaf.Physical != format.FixedLenByteArray {
			return fmt.Errorf("encoding %s of %s", enc, d.leaf.Physical)
		}
		d.text.Bytes, d.text.Offsets = d.text.Bytes[:0], d.text.Offsets[:0]
		if err := decodeDeltaStrings(&d.text, src, n, &d.deltas); err != nil {
			return err
		}
		for i := range n {
			if len(d.text.At(i)) != w {
				return errValuesShort
			}
		}
		src = d.text.Bytes
	default:
		return unsupported(fmt.Sprintf("encoding %s of %s", enc, d.leaf.Physical))
	}
	if w <= 0 || len(src)/w < n {
		return errValuesShort
	}
	return d.appendFixed(dst, src[:n*w], n)
}

// appendFixed appends n PLAIN values of a fixed width.
func (d *valueDecoder) appendFixed(dst *values, src []byte, n int) error {
	f := d.leaf
	switch f.Physical {
	case format.Int32:
		if d.form == formI32 {
			out := grow(&dst.i32, n)
			for i := range out {
				out[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
			}
			return nil
		}
		v := d.ints(n)
		for i := range v {
			v[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
		return d.appendInts(dst, v)
	case format.Int64:
		if d.form == formI64 && f.Convert != schema.NanoToMicro {
			out := grow(&dst.i64, n)
			for i := range out {
				out[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
			}
			return nil
		}
		v := d.ints(n)
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
		return d.appendInts(dst, v)
	case format.Float:
		out := grow(&dst.f32, n)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case format.Double:
		out := grow(&dst.f64, n)
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		}
	case format.Int96:
		out := grow(&dst.i64, n)
		for i := range out {
			out[i] = int96Micros(src[12*i:])
		}
	case format.FixedLenByteArray:
		return d.appendFixedBytes(dst, src, n)
	default:
		return unsupported("physical type " + f.Physical.String())
	}
	return nil
}

func (d *valueDecoder) appendFixedBytes(dst *values, src []byte, n int) error {
	w := d.leaf.Length
	switch d.leaf.Convert {
	case schema.BytesDecimal:
		if d.form == formI64 && w <= 8 {
			out := grow(&dst.i64, n)
			for i := range out {
				u := uint64(int64(int8(src[i*w]))) // with the sign in all bits above
				for _, b := range src[i*w+1 : (i+1)*w] {
					u = u<<8 | uint64(b)
				}
				out[i] = int64(u)
			}
			return nil
		}
		for i := range n {
			if err := d.appendDecimal(dst, src[i*w:(i+1)*w]); err != nil {
				return err
			}
		}
	case schema.Float16:
		out := grow(&dst.f32, n)
		for i := range out {
			out[i] = float16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case schema.UUIDText:
		var text [36]byte
		for i := range n {
			uuidText(&text, src[16*i:])
			dst.str.Append(text[:])
		}
	default:
		if len(dst.str.Offsets) == 0 {
			dst.str.Offsets = append(dst.str.Offsets, 0)
		}
		at := len(dst.str.Bytes)
		dst.str.Bytes = append(dst.str.Bytes, src...)
		for i := range n {
			dst.str.Offsets = append(dst.str.Offsets, uint32(at+(i+1)*w))
		}
	}
	return nil
}

// ints gives scratch room for n integers.
func (d *valueDecoder) ints(n int) []int64 {
	if cap(d.deltas) < n {
		d.deltas = make([]int64, n)
	}
	return d.deltas[:n]
}

// appendInts appends the values of an INT32 or INT64 leaf, given as they are stored.
func (d *valueDecoder) appendInts(dst *values, v []int64) error {
	switch d.form {
	case formI32:
		out := grow(&dst.i32, len(v))
		for i, x := range v {
			out[i] = int32(x)
		}
	case formI64:
		out := grow(&dst.i64, len(v))
		narrow := d.leaf.Physical == format.Int32 // a delta sum may have bits above the 32
		for i, x := range v {
			if narrow {
				x = int64(int32(x))
			}
			switch d.leaf.Convert {
			case schema.UInt32:
				x = int64(uint32(x))
			case schema.MilliToMicro:
				x *= 1000
			case schema.NanoToMicro:
				x = floorDiv(x, 1000)
			}
			out[i] = x
		}
	case formDec:
		out := grow(&dst.dec, len(v))
		for i, x := range v {
			if d.leaf.Physical == format.Int32 {
				x = int64(int32(x))
			}
			if d.leaf.Convert == schema.UInt64 {
				out[i] = column.Int128{Lo: uint64(x)}
			} else {
				out[i] = column.Int128From(x)
			}
		}
	default:
		return fmt.Errorf("integers in a column of type %s", d.leaf.Type)
	}
	return nil
}

func (d *valueDecoder) decodeBools(dst *values, enc format.Encoding, src []byte, n int) error {
	out := grow(&dst.bools, n)
	switch enc {
	case format.Plain:
		if len(src) < (n+7)/8 {
			return errValuesShort
		}
		for i := range out {
			out[i] = src[i>>3]>>(i&7)&1 != 0
		}
	case format.RLE:
		if len(src) < 4 {
			return errValuesShort
		}
		d.bits = room(d.bits, n)
		if _, err := decodeHybrid(d.bits, src[4:], 1); err != nil { // the length before the runs is not needed
			return err
		}
		for i, b := range d.bits {
			out[i] = b&1 != 0
		}
	default:
		return unsupported(fmt.Sprintf("encoding %s of %s", enc, d.leaf.Physical))
	}
	return nil
}

func (d *valueDecoder) decodeByteArrays(dst *values, enc format.Encoding, src []byte, n int) error {
	to := &dst.str
	if d.form != formStr {
		d.text.Bytes, d.text.Offsets = d.text.Bytes[:0], d.text.Offsets[:0]
		to = &d.text
	}
	before := to.Len()
	var err error
	switch enc {
	case format.Plain:
		err = decodePlainStrings(to, src, n)
	case format.DeltaLengthByteArray:
		err = decodeDeltaLengths(to, src, n, &d.deltas)
	case format.DeltaByteArray:
		err = decodeDeltaStrings(to, src, n, &d.deltas)
	default:
		return unsupported(fmt.Sprintf("encoding %s of %s", enc, d.leaf.Physical))
	}
	if err != nil {
		return err
	}
	if len(to.Bytes) > maxDecodedBytes {
		return errTooLarge
	}
	if to == &dst.str {
		return nil
	}
	for i := before; i < to.Len(); i++ {
		if err := d.appendDecimal(dst, to.At(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodePlainStrings(dst *column.Strings, src []byte, n int) error {
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(make([]uint32, 0, n+1), 0)
	}
	if n > len(src)/4 {
		return errValuesShort
	}
	at := len(dst.Bytes)
	out := grow(&dst.Offsets, n)
	grow(&dst.Bytes, len(src)-4*n) // room for all
	text := dst.Bytes
	for i := range out {
		if len(src) < 4 {
			return errValuesShort
		}
		l := int(binary.LittleEndian.Uint32(src))
		if l > len(src)-4 || l > len(text)-at {
			return errValuesShort
		}
		copy(text[at:], src[4:4+l])
		at += l
		out[i] = uint32(at)
		src = src[4+l:]
	}
	dst.Bytes = text[:at]
	return nil
}

// appendDecimal appends a big-endian two's complement number.
func (d *valueDecoder) appendDecimal(dst *values, b []byte) error {
	v, err := int128(b)
	if err != nil {
		return err
	}
	if d.form == formDec {
		dst.dec = append(dst.dec, v)
		return nil
	}
	if v.Hi != int64(v.Lo)>>63 {
		return fmt.Errorf("a decimal value is outside %s", d.leaf.Type)
	}
	dst.i64 = append(dst.i64, int64(v.Lo))
	return nil
}

// int128 reads a big-endian two's complement number; bytes beyond 16 must repeat the sign.
func int128(b []byte) (column.Int128, error) {
	if len(b) == 0 {
		return column.Int128{}, nil
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 16 {
		if b[0] != sign {
			return column.Int128{}, errors.New("a decimal value has more than 128 bits")
		}
		b = b[1:]
	}
	var w [16]byte
	if sign != 0 {
		for i := range w {
			w[i] = sign
		}
	}
	copy(w[16-len(b):], b)
	return column.Int128{Hi: int64(binary.BigEndian.Uint64(w[:])), Lo: binary.BigEndian.Uint64(w[8:])}, nil
}

// grow extends a slice by n and returns the new part.
func grow[T any](s *[]T, n int) []T {
	l := len(*s)
	if cap(*s)-l < n {
		c := make([]T, l, max(l+n, l+l/2))
		copy(c, *s)
		*s = c
	}
	*s = (*s)[:l+n]
	return (*s)[l:]
}

const (
	julianUnixEpoch = 2440588 // Julian day of 1970-01-01
	microsPerDay    = 86400 * 1000 * 1000
)

// int96Micros is the timestamp of Impala and old Spark: 8 bytes of ns within the day, 4 bytes of Julian
// day. Sums wrap as they do in Spark, which stores years beyond the range of ns this way.
func int96Micros(b []byte) int64 {
	ns, day := int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:])))
	return (day-julianUnixEpoch)*microsPerDay + floorDiv(ns, 1000)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// float16 widens an IEEE 754 half.
func float16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	case frac == 0:
		return math.Float32frombits(sign)
	}
	shift := uint32(bits.LeadingZeros32(frac)) - 21 // subnormal: bring the leading bit to place 10
	return math.Float32frombits(sign | (113-shift)<<23 | (frac<<shift&1023)<<13)
}

func uuidText(dst *[36]byte, b []byte) {
	hex.Encode(dst[:8], b[:4])
	hex.Encode(dst[9:13], b[4:6])
	hex.Encode(dst[14:18], b[6:8])
	hex.Encode(dst[19:23], b[8:10])
	hex.Encode(dst[24:], b[10:16])
	dst[8], dst[13], dst[18], dst[23] = '-', '-', '-', '-'
}
