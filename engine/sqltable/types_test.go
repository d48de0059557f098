package sqltable

import (
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

func TestColumnTypes(t *testing.T) {
	for text, want := range map[string]string{
		"tinyint(1)": "bool", "bool": "bool", "tinyint": "int32", "smallint": "int32", "mediumint": "int32", "int": "int32", "bigint": "int64",
		"tinyint unsigned": "int32", "smallint unsigned": "int32", "mediumint unsigned": "int32", "int unsigned": "int64", "bigint unsigned": "decimal(20,0)",
		"float": "float32", "double": "float64", "decimal(38,30)": "decimal(38,30)", "decimal": "decimal(10,0)",
		"char(3)": "string", "varchar(9)": "string", "tinytext": "string", "text": "string", "mediumtext": "string", "longtext": "string",
		"enum('a')": "string", "set('a')": "string", "json": "string", "binary(3)": "binary", "varbinary(3)": "binary", "blob": "binary", "longblob": "binary",
		"date": "date", "time": "time", "datetime": "timestamp", "datetime(6)": "timestamp", "timestamp": "timestamp", "year": "int32",
	} {
		d, err := parseDeclaration(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := columnType("c", d.Type)
		if err != nil || got.String() != want {
			t.Errorf("%s is stored as %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestTypesOfForeignColumns(t *testing.T) {
	nested := column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: column.Type{Kind: column.Int32}}}}
	for _, c := range []struct {
		t    column.Type
		key  bool
		want string
	}{
		{column.Type{Kind: column.Bool}, false, "tinyint(1)"}, {column.Type{Kind: column.Int32}, false, "int"}, {column.Type{Kind: column.Int64}, false, "bigint"},
		{column.Type{Kind: column.String}, false, "longtext"}, {column.Type{Kind: column.String}, true, "varchar(768)"},
		{column.Type{Kind: column.Binary}, false, "longblob"}, {column.Type{Kind: column.Binary, FixedSize: 16}, false, "binary(16)"},
		{column.Type{Kind: column.Timestamp}, false, "datetime(6)"}, {column.Type{Kind: column.TimestampMilli, Local: true}, false, "datetime(3)"},
		{column.Type{Kind: column.Decimal, Precision: 38, Scale: 9}, false, "decimal(38,9)"},
		{column.Type{Kind: column.Decimal, Precision: 38, Scale: 38}, false, "varchar(64)"}, {nested, false, "json"},
	} {
		if got := typeText(sqlType(c.t, c.key)); got != c.want {
			t.Errorf("%s shows as %s, want %s", c.t, got, c.want)
		}
	}
}

// A declaration that no longer fits what is stored is passed over.
func TestColumnThatChangedItsType(t *testing.T) {
	s := &column.Schema{Fields: []column.Field{{Name: "a", Type: column.Type{Kind: column.Int64}}, {Name: "b", Type: column.Type{Kind: column.Int32}}}}
	got := sqlColumns("d", "t", s, nil, map[string]string{"shoal.sql.column.a": "smallint", "shoal.sql.column.b": "smallint DEFAULT 3"})
	if typeText(got[0].Type) != "bigint" || typeText(got[1].Type) != "smallint" || got[1].Default == nil {
		t.Error(got)
	}
}

func TestDecimalsKeepTheirDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := column.Int128{Hi: rapid.Int64Range(-1<<61, 1<<61).Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		got, ok := int128(decimal.NewFromBigInt(bigInt(want), int32(-scale)), scale)
		if !ok || got != want {
			t.Fatalf("%v became %v, %v", want, got, ok)
		}
	})
	for _, c := range []struct {
		text  string
		scale int
		lo    uint64
		ok    bool
	}{
		{"1.5", 1, 15, true}, {"1.50", 1, 15, true}, {"1.55", 1, 0, false}, {"1e3", 0, 1000, true}, {"0e-99999", 0, 0, true}, {"1e99", 0, 0, false}, {"1e-9999", 2, 0, false},
	} {
		got, ok := int128(decimal.RequireFromString(c.text), c.scale)
		if ok != c.ok || ok && (got.Hi != 0 || got.Lo != c.lo) {
			t.Errorf("%s at scale %d: %v, %v", c.text, c.scale, got, ok)
		}
	}
}
