package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
)

// bindLeaf gives a leaf the column type of its physical type and annotation. The logical type counts
// before the legacy one; an annotation that is not known leaves the physical type.
func bindLeaf(n *parquetNode, def, rep int) (*ParquetField, error) {
	f := &ParquetField{Field: column.Field{Name: n.Name}, Leaf: n.leaf, Physical: n.Type.V, Def: def, Rep: rep}
	var err error
	switch n.Type.V {
	case format.Boolean:
		f.Type.Kind = column.Bool
	case format.Int32:
		err = bindInt32(f, n)
	case format.Int64:
		err = bindInt64(f, n)
	case format.Int96:
		f.Type.Kind, f.Convert = column.Timestamp, Int96Micro
	case format.Float:
		f.Type.Kind = column.Float32
	case format.Double:
		f.Type.Kind = column.Float64
	case format.ByteArray:
		err = bindByteArray(f, n)
	case format.FixedLenByteArray:
		err = bindFixed(f, n)
	}
	return f, err
}

// decimal binds a decimal, given by the logical type or by the legacy annotation.
func (n *parquetNode) decimal(f *ParquetField, c Conversion, maxPrecision int) (bool, error) {
	precision, scale := n.Precision.V, n.Scale.V
	if d, ok := n.LogicalType.Value.(*format.DecimalType); ok {
		precision, scale = d.Precision, d.Scale
	} else if !n.ConvertedType.Valid || n.ConvertedType.V != deprecated.Decimal {
		return false, nil
	}
	if precision < 1 || scale < 0 || scale > precision {
		return false, fmt.Errorf("decimal(%d,%d) is not valid", precision, scale)
	}
	if int(precision) > maxPrecision {
		return false, fmt.Errorf("decimal(%d,%d) has more than %d digits", precision, scale, maxPrecision)
	}
	f.Type = column.Type{Kind: column.Decimal, Precision: int(precision), Scale: int(scale)}
	f.Convert = c
	return true, nil
}

func bindInt32(f *ParquetField, n *parquetNode) error {
	f.Type.Kind = column.Int32
	if ok, err := n.decimal(f, IntDecimal, 38); ok || err != nil {
		return err
	}
	switch l := n.LogicalType.Value.(type) {
	case *format.DateType:
		f.Type.Kind = column.Date
	case *format.TimeType:
		f.Type.Kind, f.Convert = column.Time, MilliToMicro
	case *format.IntType:
		if !l.IsSigned {
			f.unsigned32(l.BitWidth >= 32)
		}
	case nil:
		if !n.ConvertedType.Valid {
			return nil
		}
		switch n.ConvertedType.V {
		case deprecated.Date:
			f.Type.Kind = column.Date
		case deprecated.TimeMillis:
			f.Type.Kind, f.Convert = column.Time, MilliToMicro
		case deprecated.Uint8, deprecated.Uint16:
			f.unsigned32(false)
		case deprecated.Uint32:
			f.unsigned32(true)
		}
	}
	return nil
}

func (f *ParquetField) unsigned32(wide bool) {
	f.Unsigned = true
	if wide {
		f.Type.Kind, f.Convert = column.Int64, UInt32
	}
}

func (f *ParquetField) unsigned64() {
	f.Unsigned = true
	f.Type, f.Convert = column.Type{Kind: column.Decimal, Precision: 20}, UInt64
}

func bindInt64(f *ParquetField, n *parquetNode) error {
	f.Type.Kind = column.Int64
	if ok, err := n.decimal(f, IntDecimal, 38); ok || err != nil {
		return err
	}
	switch l := n.LogicalType.Value.(type) {
	case *format.TimeType:
		f.Type.Kind = column.Time
		if _, nano := l.Unit.Value.(*format.NanoSeconds); nano {
			f.Convert = NanoToMicro
		}
	case *format.TimestampType:
		f.Type = column.Type{Kind: column.Timestamp, Local: !l.IsAdjustedToUTC}
		switch l.Unit.Value.(type) {
		case *format.MilliSeconds:
			f.Type.Kind = column.TimestampMilli
		case *format.NanoSeconds:
			f.Convert = NanoToMicro
		}
	case *format.IntType:
		if !l.IsSigned {
			f.unsigned64()
		}
	case nil:
		if !n.ConvertedType.Valid {
			return nil
		}
		switch n.ConvertedType.V {
		case deprecated.TimeMicros:
			f.Type.Kind = column.Time
		case deprecated.TimestampMicros:
			f.Type.Kind = column.Timestamp
		case deprecated.TimestampMillis:
			f.Type.Kind = column.TimestampMilli
		case deprecated.Uint64:
			f.unsigned64()
		}
	}
	return nil
}

func bindByteArray(f *ParquetField, n *parquetNode) error {
	f.Type.Kind = column.Binary
	if ok, err := n.decimal(f, BytesDecimal, 38); ok || err != nil {
		return err
	}
	switch n.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		f.Type.Kind = column.String
	case nil:
		if !n.ConvertedType.Valid {
			return nil
		}
		switch n.ConvertedType.V {
		case deprecated.UTF8, deprecated.Enum, deprecated.Json:
			f.Type.Kind = column.String
		}
	}
	return nil
}

func bindFixed(f *ParquetField, n *parquetNode) error {
	f.Length = int(n.TypeLength.V)
	if f.Length < 1 || f.Length > 1<<20 {
		return fmt.Errorf("fixed-length values of %d bytes", f.Length)
	}
	f.Type = column.Type{Kind: column.Binary, FixedSize: f.Length}
	if ok, err := n.decimal(f, BytesDecimal, 38); ok || err != nil {
		return err
	}
	switch n.LogicalType.Value.(type) {
	case *format.Float16Type:
		if f.Length == 2 {
			f.Type, f.Convert = column.Type{Kind: column.Float32}, Float16
		}
	case *format.UUIDType:
		if f.Length == 16 {
			f.Type, f.Convert = column.Type{Kind: column.String}, UUIDText
		}
	}
	return nil
}
