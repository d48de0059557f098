package sqltable

import (
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// keyLength is the length in characters of a VARCHAR that a key column shows when the table does
// not say what MySQL type it was declared with: the longest utf8mb4 key MySQL takes (3072 bytes).
const keyLength = 768

// uint64Precision is the precision of the decimals that hold BIGINT UNSIGNED.
const uint64Precision = 20

// columnType maps a MySQL column type to the type the table stores.
func columnType(name string, t sql.Type) (column.Type, error) {
	if types.IsSet(t) || types.IsEnum(t) || types.IsJSON(t) {
		return column.Type{Kind: column.String}, nil
	}
	switch t.Type() {
	case sqltypes.Int8:
		if isBool(t) {
			return column.Type{Kind: column.Bool}, nil
		}
		return column.Type{Kind: column.Int32}, nil
	case sqltypes.Int16, sqltypes.Int24, sqltypes.Int32, sqltypes.Uint8, sqltypes.Uint16, sqltypes.Uint24, sqltypes.Year:
		return column.Type{Kind: column.Int32}, nil
	case sqltypes.Uint32, sqltypes.Int64:
		return column.Type{Kind: column.Int64}, nil
	case sqltypes.Uint64:
		return column.Type{Kind: column.Decimal, Precision: uint64Precision}, nil
	case sqltypes.Float32:
		return column.Type{Kind: column.Float32}, nil
	case sqltypes.Float64:
		return column.Type{Kind: column.Float64}, nil
	case sqltypes.Decimal:
		d, ok := t.(sql.DecimalType)
		if !ok {
			break
		}
		if d.Precision() > 38 {
			return column.Type{}, &engine.UnsupportedError{
				What: fmt.Sprintf("column %s: %s", name, t), Why: "a table stores at most 38 digits", Hint: "use DECIMAL(38,s) or DOUBLE"}
		}
		return column.Type{Kind: column.Decimal, Precision: int(d.Precision()), Scale: int(d.Scale())}, nil
	case sqltypes.Char, sqltypes.VarChar, sqltypes.Text:
		return column.Type{Kind: column.String}, nil
	case sqltypes.Binary, sqltypes.VarBinary, sqltypes.Blob:
		return column.Type{Kind: column.Binary}, nil
	case sqltypes.Date:
		return column.Type{Kind: column.Date}, nil
	case sqltypes.Time:
		return column.Type{Kind: column.Time}, nil
	case sqltypes.Datetime, sqltypes.Timestamp:
		return column.Type{Kind: column.Timestamp}, nil
	}
	return column.Type{}, &engine.UnsupportedError{What: fmt.Sprintf("column %s: type %s", name, t),
		Why: "a table has no type that keeps it", Hint: "use a numeric, character, binary, temporal or JSON type"}
}

// isBool reports whether a type is TINYINT(1), which is what BOOLEAN means.
func isBool(t sql.Type) bool { return t.Type() == sqltypes.Int8 && t.String() == "tinyint(1)" }

// sqlType is the MySQL type of a stored column whose declaration is not known. Keys get types
// that MySQL accepts in a PRIMARY KEY.
func sqlType(t column.Type, key bool) sql.Type {
	switch t.Kind {
	case column.Bool:
		return types.Boolean
	case column.Int32:
		return types.Int32
	case column.Int64:
		return types.Int64
	case column.Float32:
		return types.Float32
	case column.Float64:
		return types.Float64
	case column.Decimal:
		d, err := types.CreateDecimalType(uint8(t.Precision), uint8(t.Scale))
		if err != nil { // MySQL ends at 30 digits after the point; more show as text
			return types.MustCreateStringWithDefaults(sqltypes.VarChar, 64)
		}
		return d
	case column.String:
		if key {
			return types.MustCreateStringWithDefaults(sqltypes.VarChar, keyLength)
		}
		return types.LongText
	case column.Binary:
		if t.FixedSize > 0 && t.FixedSize <= 255 {
			return types.MustCreateBinary(sqltypes.Binary, int64(t.FixedSize))
		}
		if key {
			return types.MustCreateBinary(sqltypes.VarBinary, 4*keyLength)
		}
		return types.LongBlob
	case column.Date:
		return types.Date
	case column.Time:
		return types.Time
	case column.Timestamp:
		return types.DatetimeMaxPrecision
	case column.TimestampMilli:
		return types.Datetime3
	default:
		return types.JSON
	}
}

// typeText is a type as SHOW CREATE TABLE prints it.
func typeText(t sql.Type) string {
	if c, ok := t.(sql.TypeWithCollation); ok {
		return c.StringWithTableCollation(sql.Collation_Default)
	}
	return t.String()
}

// columnProperty is the table property that keeps a column's MySQL definition.
func columnProperty(name string) string { return "shoal.sql.column." + name }

// declaration is what a column's property keeps of its MySQL definition: the type as it was
// declared and the default, as MySQL would print them after the column's name.
type declaration struct {
	Type    sql.Type
	Default string // SQL text of the default expression; "" for none
}

func (d declaration) String() string {
	if d.Default == "" {
		return typeText(d.Type)
	}
	return typeText(d.Type) + " DEFAULT " + d.Default
}

// parseDeclaration reads a column property. Properties are text that anybody may have edited, so
// every failure is an error and none a panic.
func parseDeclaration(text string) (d declaration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("column definition %q: %v", text, r)
		}
	}()
	stmt, err := sqlparser.Parse("CREATE TABLE t (c " + text + ")")
	if err != nil {
		return declaration{}, fmt.Errorf("column definition %q: %w", text, err)
	}
	ddl, ok := stmt.(*sqlparser.DDL)
	if !ok || ddl.TableSpec == nil || len(ddl.TableSpec.Columns) != 1 || ddl.OptSelect != nil ||
		len(ddl.TableSpec.Indexes)+len(ddl.TableSpec.Constraints)+len(ddl.TableSpec.TableOpts) > 0 || ddl.TableSpec.PartitionOpt != nil {
		return declaration{}, fmt.Errorf("column definition %q is not one column", text)
	}
	ct := ddl.TableSpec.Columns[0].Type
	typ, err := types.ColumnTypeToType(&ct)
	if err != nil {
		return declaration{}, fmt.Errorf("column definition %q: %w", text, err)
	}
	if c, ok := typ.(sql.TypeWithCollation); ok && c.Collation() == sql.Collation_Unspecified {
		if typ, err = c.WithNewCollation(sql.Collation_Default); err != nil {
			return declaration{}, fmt.Errorf("column definition %q: %w", text, err)
		}
	}
	d = declaration{Type: typ}
	if ct.Default != nil {
		d.Default = sqlparser.String(ct.Default)
	}
	return d, nil
}

// sqlColumns builds the SQL schema of a table: its data columns, without the meta columns.
// props are the table's properties; a declaration that does not fit the stored type any more
// (another engine changed the column) is passed over.
func sqlColumns(database, table string, s *column.Schema, keys []string, props map[string]string) sql.Schema {
	isKey := map[string]bool{}
	for _, k := range keys {
		isKey[k] = true
	}
	out := make(sql.Schema, 0, len(s.Fields))
	for _, f := range s.Fields {
		c := &sql.Column{Name: f.Name, Source: table, DatabaseSource: database,
			Nullable: f.Nullable, Comment: f.Doc, PrimaryKey: isKey[f.Name]}
		c.Type = sqlType(f.Type, c.PrimaryKey)
		if text, ok := props[columnProperty(f.Name)]; ok {
			if d, err := parseDeclaration(text); err == nil && fits(f, d.Type) {
				c.Type = exactDecimal(d.Type)
				if d.Default != "" {
					c.Default = sql.NewUnresolvedColumnDefaultValue(d.Default)
				}
			}
		}
		if c.PrimaryKey {
			c.Nullable = false
		}
		out = append(out, c)
	}
	return out
}

// fits reports whether a declared type stores exactly what the column stores.
func fits(f column.Field, t sql.Type) bool {
	want, err := columnType(f.Name, t)
	if err != nil {
		return false
	}
	switch f.Type.Kind {
	case column.Timestamp, column.TimestampMilli:
		return want.Kind == column.Timestamp
	case column.Decimal:
		return want.Kind == column.Decimal && want.Precision == f.Type.Precision && want.Scale == f.Type.Scale
	}
	return want.Kind == f.Type.Kind
}

// sameName compares identifiers as MySQL compares column names.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
