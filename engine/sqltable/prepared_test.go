package sqltable

import (
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// prepared runs a statement with its ? bound, twice as clients do.
func (d *db) prepared(q string, args ...sqlparser.Expr) [][]string {
	d.t.Helper()
	ctx := d.context()
	if _, err := d.e.PrepareQuery(ctx, q); err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	bind := map[string]sqlparser.Expr{}
	for i, a := range args {
		bind["v"+string(rune('1'+i))] = a
	}
	var out [][]string
	for range 2 {
		ctx = d.context()
		_, iter, _, err := d.e.QueryWithBindings(ctx, q, nil, bind, nil)
		if err != nil {
			d.t.Fatalf("%s: %v", q, err)
		}
		rows, err := sql.RowIterToRows(ctx, iter)
		if err != nil {
			d.t.Fatalf("%s: %v", q, err)
		}
		out = nil
		for _, r := range rows {
			line := make([]string, len(r))
			for i, v := range r {
				line[i] = text(v)
			}
			out = append(out, line)
		}
	}
	return out
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	n, _ := wholeNumber(v)
	return string(rune('0' + n))
}

func TestPreparedStatements(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int, s varchar(5), p int, dt datetime(6)) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t VALUES (1,'a',1,'2024-01-01'), (2,'b',2,'2024-01-02'), (3,'c',3,'2024-01-03')")
	str := func(s string) sqlparser.Expr { return sqlparser.NewStrVal([]byte(s)) }
	num := func(s string) sqlparser.Expr { return sqlparser.NewIntVal([]byte(s)) }
	for _, c := range []struct {
		q      string
		args   []sqlparser.Expr
		want   string
		pruned int64
	}{
		{"SELECT s FROM t WHERE p = ?", []sqlparser.Expr{num("2")}, "b", 2},
		{"SELECT s FROM t WHERE p IN (?, ?) AND id = ?", []sqlparser.Expr{num("3"), num("2"), num("3")}, "c", 1},
		{"SELECT s FROM t WHERE dt > ? AND p > ?", []sqlparser.Expr{str("2024-01-02 12:00:00"), num("1")}, "c", 1},
		{"SELECT _hoodie_record_key IS NOT NULL FROM t WHERE s LIKE ?", []sqlparser.Expr{str("a%")}, "1", 0},
	} {
		got := d.prepared(c.q, c.args...)
		if len(got) != 1 || got[0][0] != c.want {
			t.Errorf("%s: %v", c.q, got)
		}
		if st, _ := d.s.LastScanStats(); st.PartitionsPruned != c.pruned {
			t.Errorf("%s: %d partitions pruned, want %d", c.q, st.PartitionsPruned, c.pruned)
		}
	}
}
