package sqltable

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/shoaldb/shoal/engine"
)

// engineName is what SHOW calls the storage engine of tables.
const engineName = "Hudi"

// showCreate is the statement that makes the table again. schema has its column defaults
// resolved. Each column is on a line of its own, which clients parse.
func showCreate(t *Table, schema sql.Schema) string {
	var lines []string
	for _, c := range schema {
		if !c.HiddenSystem {
			lines = append(lines, columnLine(c))
		}
	}
	attributes := userProperties(t)
	if len(t.keys) > 0 {
		if indexable(t) {
			lines = append(lines, "  PRIMARY KEY ("+quoted(t.keys)+")")
		} else {
			attributes["primaryKey"] = strings.Join(t.keys, ",")
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (\n%s\n) ENGINE=%s DEFAULT CHARSET=utf8mb4 COLLATE=%s",
		quoteName(t.Name()), strings.Join(lines, ",\n"), engineName, sql.Collation_Default.Name())
	if c := t.Comment(); c != "" {
		b.WriteString(" COMMENT=" + quoteText(c))
	}
	if len(attributes) > 0 {
		text, err := json.Marshal(attributes)
		if err == nil { // a map of strings always marshals
			b.WriteString(" ENGINE_ATTRIBUTE=" + quoteText(string(text)))
		}
	}
	if by := t.snap.Config().PartitionFields; len(by) > 0 {
		b.WriteString("\nPARTITION BY KEY (" + quoted(by) + ")")
	}
	return b.String()
}

func columnLine(c *sql.Column) string {
	s := "  " + quoteName(c.Name) + " " + typeText(c.Type)
	if !c.Nullable {
		s += " NOT NULL"
	}
	if c.Default != nil {
		s += " DEFAULT " + c.Default.String()
	}
	if c.Comment != "" {
		s += " COMMENT " + quoteText(c.Comment)
	}
	return s
}

// indexable reports whether MySQL takes the key columns' types in a PRIMARY KEY.
func indexable(t *Table) bool {
	for _, k := range t.keys {
		if typ := t.schema[t.schema.IndexOfColName(k)].Type; types.IsTextBlob(typ) || types.IsJSON(typ) {
			return false
		}
	}
	return true
}

// managed are the properties, besides hoodie.table.*, that follow from the rest of a table's
// definition or that engines keep there for themselves.
var managed = map[string]bool{
	"hoodie.timeline.layout.version": true, "hoodie.timeline.path": true, "hoodie.database.name": true,
	"hoodie.archivelog.folder": true, "hoodie.populate.meta.fields": true, "hoodie.datasource.write.drop.partition.columns": true,
	"hoodie.datasource.write.hive_style_partitioning": true, "hoodie.datasource.write.partitionpath.urlencode": true,
	"hoodie.compaction.payload.class": true, "hoodie.compaction.record.merger.strategy": true,
	"hoodie.partition.metafile.use.base.format": true,
}

// userProperties are the properties that a CREATE TABLE has to name to make the table again.
func userProperties(t *Table) map[string]string {
	cfg := t.snap.Config()
	all := cfg.Props.Map()
	out := map[string]string{}
	if created, ok := all[propCreated]; ok {
		for _, k := range strings.Split(created, ",") {
			if v, ok := all[k]; ok {
				out[k] = v
			}
		}
	} else {
		for k, v := range all {
			if !managed[k] && strings.HasPrefix(k, "hoodie.") && !strings.HasPrefix(k, "hoodie.table.") {
				out[k] = v
			}
		}
	}
	if p := cfg.PrecombineField; p != "" {
		out["preCombineField"] = p
	}
	return out
}

func quoteName(n string) string { return "`" + strings.ReplaceAll(n, "`", "``") + "`" }

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quoteName(n)
	}
	return strings.Join(q, ",")
}

func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(s) + "'"
}

// indexRows are the rows of SHOW INDEX: the record key.
func indexRows(t *Table) []sql.Row {
	rows := make([]sql.Row, len(t.keys))
	for i, k := range t.keys {
		rows[i] = sql.NewRow(t.Name(), int32(0), "PRIMARY", uint32(i+1), k, "A", int64(0), nil, nil, "", "BLOOM",
			t.keyComment(), "", "YES", nil)
	}
	return rows
}

// tableStatus is SHOW TABLE STATUS. A table that cannot be opened has NULLs and its error as the
// comment (I6).
// names are the tables that the user may see.
func tableStatus(ctx *sql.Context, d *Database, names []string) (sql.RowIter, error) {
	sort.Strings(names)
	var rows []sql.Row
	for _, n := range names {
		t, ok, err := d.table(ctx, n, "")
		if err == nil && !ok {
			continue // dropped meanwhile
		}
		tab := tableOf(t)
		if err != nil || tab == nil {
			rows = append(rows, sql.NewRow(n, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, errorText(err)))
			continue
		}
		rows = append(rows, statusRow(tab))
	}
	return sql.RowsToRowIter(rows...), nil
}

func errorText(err error) string {
	var te *engine.TableError
	if errors.As(err, &te) {
		return te.Err.Error()
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func statusRow(t *Table) sql.Row {
	n, _ := t.snap.Rows()
	bytes := uint64(t.snap.Bytes())
	average := uint64(0)
	if n > 0 {
		average = bytes / uint64(n)
	}
	var options []string
	if by := t.snap.Config().PartitionFields; len(by) > 0 {
		options = append(options, "partitioned by "+strings.Join(by, ","))
	}
	return sql.NewRow(t.Name(), engineName, "10", "Parquet", uint64(n), average, bytes, uint64(0), int64(0), int64(0), nil,
		nil, updated(t.snap.Instant()), nil, sql.Collation_Default.Name(), nil, strings.Join(options, " "), t.Comment())
}

// updated is the time of an instant, or NULL.
func updated(instant string) any {
	if len(instant) < 14 {
		return nil
	}
	m, err := time.Parse("20060102150405", instant[:14])
	if err != nil {
		return nil
	}
	return m
}
