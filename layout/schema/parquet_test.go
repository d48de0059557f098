package schema

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
)

func field(name string, k column.Kind) column.Field {
	return column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: true}
}

func listType(elem column.Field) column.Type {
	elem.Name = "element"
	return column.Type{Kind: column.List, Fields: []column.Field{elem}}
}

var everyType = &column.Schema{Fields: []column.Field{
	field("z", column.String), // order of columns must survive
	field("b", column.Bool), field("i", column.Int32), field("l", column.Int64),
	field("f", column.Float32), field("d", column.Float64),
	{Name: "dec", Type: column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}},
	{Name: "wide", Type: column.Type{Kind: column.Decimal, Precision: 38, Scale: 0}, Nullable: true},
	field("bin", column.Binary),
	{Name: "fix", Type: column.Type{Kind: column.Binary, FixedSize: 3}},
	field("day", column.Date), field("time", column.Time), field("ts", column.Timestamp), field("tsm", column.TimestampMilli),
	{Name: "lts", Type: column.Type{Kind: column.Timestamp, Local: true}, Nullable: true},
	{Name: "list", Type: listType(field("", column.Int32)), Nullable: true},
	{Name: "map", Type: column.Type{Kind: column.Map, Fields: []column.Field{
		{Name: "key", Type: column.Type{Kind: column.String}}, field("value", column.Float64)}}},
	{Name: "struct", Type: column.Type{Kind: column.Struct, Fields: []column.Field{
		field("y", column.Int64), {Name: "x", Type: listType(column.Field{Type: column.Type{Kind: column.Date}})}}}, Nullable: true},
}}

const everyTypeText = `message m {
	optional binary z (STRING);
	optional boolean b;
	optional int32 i (INT(32,true));
	optional int64 l (INT(64,true));
	optional float f;
	optional double d;
	required fixed_len_byte_array(5) dec (DECIMAL(10,2));
	optional fixed_len_byte_array(16) wide (DECIMAL(38,0));
	optional binary bin;
	required fixed_len_byte_array(3) fix;
	optional int32 day (DATE);
	optional int64 time (TIME(isAdjustedToUTC=true,unit=MICROS));
	optional int64 ts (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 tsm (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS));
	optional int64 lts (TIMESTAMP(isAdjustedToUTC=false,unit=MICROS));
	optional group list (LIST) {
		repeated group list {
			optional int32 element (INT(32,true));
		}
	}
	required group map (MAP) {
		repeated group key_value {
			required binary key (STRING);
			optional double value;
		}
	}
	optional group struct {
		optional int64 y (INT(64,true));
		required group x (LIST) {
			repeated group list {
				required int32 element (DATE);
			}
		}
	}
}`

func TestToParquetText(t *testing.T) {
	s, err := ToParquet("m", everyType)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(everyTypeText, s.String()); d != "" {
		t.Error(d)
	}
}

func TestParquetRoundTrip(t *testing.T) {
	s, err := ToParquet("m", everyType)
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromParquet(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(everyType, back); d != "" {
		t.Error(d)
	}
}

func TestLegacyAnnotationOnlyForInstants(t *testing.T) {
	s, err := ToParquet("m", everyType)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := ParquetElements(s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, e := range elements {
		if e.ConvertedType.Valid {
			got[e.Name] = e.ConvertedType.V
		}
		if e.Name == "i" && e.LogicalType.Value != nil {
			t.Errorf("i: %+v", e)
		}
		if e.Name == "dec" && (e.Precision.V != 10 || e.Scale.V != 2 || e.TypeLength.V != 5) {
			t.Errorf("dec: %+v", e)
		}
	}
	want := map[string]any{"z": deprecated.UTF8, "dec": deprecated.Decimal, "wide": deprecated.Decimal, "day": deprecated.Date,
		"element": deprecated.Date, "time": deprecated.TimeMicros, "ts": deprecated.TimestampMicros,
		"tsm": deprecated.TimestampMillis, "list": deprecated.List, "map": deprecated.Map, "x": deprecated.List, "key": deprecated.UTF8}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecimalBytesHoldEveryValue(t *testing.T) {
	for p := 1; p <= 38; p++ {
		max := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil)
		max.Sub(max, big.NewInt(1))
		if want := max.BitLen()/8 + 1; DecimalBytes(p) != want {
			t.Errorf("precision %d: %d bytes, want %d", p, DecimalBytes(p), want)
		}
	}
}

func TestToParquetErrors(t *testing.T) {
	for _, f := range []column.Field{
		{Name: "bad"},
		{Name: "bad", Type: column.Type{Kind: column.Decimal, Precision: 39}},
		{Name: "bad", Type: column.Type{Kind: column.Struct}},
		{Name: "bad", Type: column.Type{Kind: column.List}},
	} {
		if _, err := ToParquet("m", &column.Schema{Fields: []column.Field{f}}); err == nil || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("%s: %v", f.Type.Kind, err)
		}
	}
	if _, err := ToParquet("m", &column.Schema{Fields: []column.Field{field("a", column.Int32), field("a", column.Int32)}}); err == nil {
		t.Error("two columns of one name were accepted")
	}
}

func el(name string, rep format.FieldRepetitionType, children int, typ format.Type, conv ...deprecated.ConvertedType) format.SchemaElement {
	e := format.SchemaElement{Name: name, RepetitionType: thrift.New(rep)}
	if children > 0 {
		e.NumChildren = thrift.New(int32(children))
	} else {
		e.Type = thrift.New(typ)
	}
	if len(conv) > 0 {
		e.ConvertedType = thrift.New(conv[0])
	}
	return e
}

// The forms are those of the Parquet specification's section on lists and maps.
func TestBindNestedForms(t *testing.T) {
	const req, opt, rep = format.Required, format.Optional, format.Repeated
	const i32, str = format.Int32, format.ByteArray
	for _, c := range []struct {
		name     string
		elements []format.SchemaElement
		want     string
		levels   [][2]int // def, rep of each leaf
	}{
		{"three-level", []format.SchemaElement{el("l", opt, 1, 0, deprecated.List), el("list", rep, 1, 0), el("element", opt, 0, i32)},
			"list<int32>", [][2]int{{3, 1}}},
		{"three-level, other names", []format.SchemaElement{el("l", req, 1, 0, deprecated.List), el("bag", rep, 1, 0), el("array_element", req, 0, i32)},
			"list<int32>", [][2]int{{1, 1}}},
		{"two-level primitive", []format.SchemaElement{el("l", opt, 1, 0, deprecated.List), el("element", rep, 0, i32)},
			"list<int32>", [][2]int{{2, 1}}},
		{"two-level struct", []format.SchemaElement{el("l", opt, 1, 0, deprecated.List), el("element", rep, 2, 0), el("s", req, 0, str, deprecated.UTF8), el("n", opt, 0, i32)},
			"list<struct<s:string,n:int32>>", [][2]int{{2, 1}, {3, 1}}},
		{"two-level array of one field", []format.SchemaElement{el("l", opt, 1, 0, deprecated.List), el("array", rep, 1, 0), el("s", req, 0, str)},
			"list<struct<s:binary>>", [][2]int{{2, 1}}},
		{"two-level tuple of one field", []format.SchemaElement{el("l", opt, 1, 0, deprecated.List), el("l_tuple", rep, 1, 0), el("s", req, 0, str)},
			"list<struct<s:binary>>", [][2]int{{2, 1}}},
		{"two-level list of list", []format.SchemaElement{el("l", req, 1, 0, deprecated.List), el("array", rep, 1, 0, deprecated.List), el("array", rep, 0, i32)},
			"list<list<int32>>", [][2]int{{2, 2}}},
		{"repeated leaf", []format.SchemaElement{el("l", rep, 0, i32)}, "list<int32>", [][2]int{{1, 1}}},
		{"repeated group", []format.SchemaElement{el("l", rep, 1, 0), el("x", opt, 0, i32)}, "list<struct<x:int32>>", [][2]int{{2, 1}}},
		{"map", []format.SchemaElement{el("m", opt, 1, 0, deprecated.Map), el("key_value", rep, 2, 0), el("key", req, 0, str, deprecated.UTF8), el("value", opt, 0, i32)},
			"map<string,int32>", [][2]int{{2, 1}, {3, 1}}},
		{"map, old annotation and optional key", []format.SchemaElement{el("m", opt, 1, 0, deprecated.MapKeyValue), el("map", rep, 2, 0), el("k", opt, 0, str), el("v", req, 0, i32)},
			"map<binary,int32>", [][2]int{{3, 1}, {2, 1}}},
		{"map without values", []format.SchemaElement{el("m", opt, 1, 0, deprecated.Map), el("key_value", rep, 1, 0), el("key", req, 0, i32)},
			"list<int32>", [][2]int{{2, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields, err := BindParquet(append([]format.SchemaElement{el("root", req, 1, 0)}, c.elements...))
			if err != nil {
				t.Fatal(err)
			}
			if got := fields[0].Type.String(); got != c.want {
				t.Errorf("type %s, want %s", got, c.want)
			}
			for i, l := range fields[0].Leaves(nil) {
				if l.Leaf != i || l.Def != c.levels[i][0] || l.Rep != c.levels[i][1] {
					t.Errorf("leaf %d: index %d, levels %d %d, want %v", i, l.Leaf, l.Def, l.Rep, c.levels[i])
				}
			}
		})
	}
}

func TestBindLeaves(t *testing.T) {
	logical := func(typ format.Type, length int, l format.LogicalTypeValue) format.SchemaElement {
		e := el("c", format.Required, 0, typ)
		e.LogicalType.Value = l
		if length > 0 {
			e.TypeLength = thrift.New(int32(length))
		}
		return e
	}
	legacyDecimal := el("c", format.Required, 0, format.Int32, deprecated.Decimal)
	legacyDecimal.Precision, legacyDecimal.Scale = thrift.New[int32](4), thrift.New[int32](2)
	for _, c := range []struct {
		e    format.SchemaElement
		want string
		conv Conversion
	}{
		{el("c", format.Required, 0, format.Int32, deprecated.Int8), "int32", Plain},
		{el("c", format.Required, 0, format.Int32, deprecated.Uint16), "int32", Plain},
		{el("c", format.Required, 0, format.Int32, deprecated.Uint32), "int64", UInt32},
		{el("c", format.Required, 0, format.Int64, deprecated.Uint64), "decimal(20,0)", UInt64},
		{el("c", format.Required, 0, format.Int32, deprecated.TimeMillis), "time", MilliToMicro},
		{el("c", format.Required, 0, format.Int64, deprecated.TimestampMillis), "timestamp_ms", Plain},
		{el("c", format.Required, 0, format.Int96), "timestamp", Int96Micro},
		{el("c", format.Required, 0, format.ByteArray), "binary", Plain},
		{el("c", format.Required, 0, format.ByteArray, deprecated.Json), "string", Plain},
		{el("c", format.Required, 0, format.ByteArray, deprecated.Bson), "binary", Plain},
		{legacyDecimal, "decimal(4,2)", IntDecimal},
		{logical(format.ByteArray, 0, &format.DecimalType{Precision: 20, Scale: 3}), "decimal(20,3)", BytesDecimal},
		{logical(format.FixedLenByteArray, 2, &format.Float16Type{}), "float32", Float16},
		{logical(format.FixedLenByteArray, 16, &format.UUIDType{}), "string", UUIDText},
		{logical(format.Int64, 0, &format.TimestampType{Unit: format.TimeUnit{Value: &format.NanoSeconds{}}}), "timestamp", NanoToMicro},
		{logical(format.Int32, 0, &format.IntType{BitWidth: 32}), "int64", UInt32},
	} {
		fields, err := BindParquet([]format.SchemaElement{el("root", format.Required, 1, 0), c.e})
		if err != nil {
			t.Errorf("%+v: %v", c.e, err)
			continue
		}
		if got := fields[0].Type.String(); got != c.want || fields[0].Convert != c.conv {
			t.Errorf("%+v: %s by conversion %d, want %s by %d", c.e, got, fields[0].Convert, c.want, c.conv)
		}
	}
}

func TestBindRejectsMalformedTrees(t *testing.T) {
	root := el("root", format.Required, 1, 0)
	deep := []format.SchemaElement{root}
	for range 100 {
		deep = append(deep, el("g", format.Optional, 1, 0))
	}
	deep = append(deep, el("x", format.Optional, 0, format.Int32))
	badType := el("x", format.Required, 0, 99)
	badRep := el("x", 7, 0, format.Int32)
	wide := el("x", format.Required, 0, format.ByteArray, deprecated.Decimal)
	wide.Precision = thrift.New[int32](39)
	for name, elements := range map[string][]format.SchemaElement{
		"empty":            nil,
		"missing children": {root},
		"left over":        {root, el("x", format.Required, 0, format.Int32), el("y", format.Required, 0, format.Int32)},
		"leaf as root":     {el("x", format.Required, 0, format.Int32)},
		"too deep":         deep,
		"physical type":    {root, badType},
		"repetition type":  {root, badRep},
		"wide decimal":     {root, wide},
		"list of two":      {root, el("l", format.Optional, 2, 0, deprecated.List), el("a", format.Repeated, 0, format.Int32), el("b", format.Repeated, 0, format.Int32)},
	} {
		if _, err := BindParquet(elements); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFromParquetOfGoStruct(t *testing.T) {
	type row struct {
		ID   int64             `parquet:"id"`
		Tags []string          `parquet:"tags,list"`
		Attr map[string]string `parquet:"attr"`
		U    uint32            `parquet:"u"`
	}
	s, err := FromParquet(parquet.SchemaOf(row{}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Fields {
		got = append(got, f.Name+" "+f.Type.String())
	}
	want := []string{"id int64", "tags list<string>", "attr map<string,string>", "u int64"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
