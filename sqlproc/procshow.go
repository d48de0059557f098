package sqlproc

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
	"github.com/shoaldb/shoal/layout/timeline"
)

func (p *Procedures) showProcedures() []*Procedure {
	scan := sql.Schema{}
	for _, name := range scanStatNames {
		scan = append(scan, longColumn(name))
	}
	return []*Procedure{{
		Name: "show_commits", Doc: "Lists the completed commits of a table, newest first.",
		Params: []Param{required(paramTable), {Name: "limit", Type: Int, Default: int64(10), Doc: "0: all"}},
		Result: sql.Schema{textColumn("commit_time"), textColumn("action"), longColumn("total_bytes_written"), longColumn("total_files_added"),
			longColumn("total_files_updated"), longColumn("total_partitions_written"), longColumn("total_records_written"),
			longColumn("total_update_records_written"), longColumn("total_errors")},
		ReadOnly: true, Needs: []sql.PrivilegeType{sql.PrivilegeType_Select},
		Run: showCommits,
	}, {
		Name: "show_table_properties", Doc: "Lists what hoodie.properties of a table says.",
		Params:   []Param{paramTable, paramPath, {Name: "limit", Type: Int, Default: int64(100), Doc: "0: all"}},
		Result:   sql.Schema{textColumn("key"), textColumn("value")},
		ReadOnly: true, Needs: []sql.PrivilegeType{sql.PrivilegeType_Select},
		Run: showTableProperties,
	}, {
		Name: "show_scan_stats", Doc: "Says what the session's last statement that read a table considered and read.",
		Result: scan, ReadOnly: true,
		Run: showScanStats,
	}}
}

// limitOf is the argument limit; 0 is none.
func limitOf(c *Call) (int, error) {
	n := c.Int("limit")
	if n < 0 || n > 1<<30 {
		return 0, c.Wrong("limit", "it is a number of rows, 0 for all")
	}
	return int(n), nil
}

func showCommits(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	commits, err := t.Commits(ctx, limit)
	if err != nil {
		return nil, err
	}
	var rows []sql.Row
	for _, in := range commits {
		rows = append(rows, commitRow(in))
	}
	return rows, nil
}

func commitRow(c engine.Commit) sql.Row {
	var bytes, added, updated, partitions, records, updates, failed int64
	for _, stats := range c.Metadata.PartitionToWriteStats {
		if len(stats) > 0 {
			partitions++
		}
		for _, s := range stats {
			bytes += s.TotalWriteBytes
			records += s.NumWrites
			updates += s.NumUpdateWrites
			failed += s.TotalWriteErrors
			if s.PrevCommit == "" || s.PrevCommit == timeline.NoPrevCommit {
				added++
			} else {
				updated++
			}
		}
	}
	return sql.Row{c.Instant.Time, string(c.Instant.Action), bytes, added, updated, partitions, records, updates, failed}
}

func showTableProperties(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := t.Snapshot(ctx); err != nil { // reads the file again if it changed
		return nil, err
	}
	props := t.Config().Props
	var rows []sql.Row
	for _, k := range props.Keys() {
		if limit > 0 && len(rows) == limit {
			break
		}
		v, _ := props.Get(k)
		rows = append(rows, sql.Row{k, v})
	}
	return rows, nil
}

// scanStatNames are the columns of show_scan_stats, in the order of scanStats.
var scanStatNames = strings.Fields(`files_total files_pruned files_read row_groups_total row_groups_pruned row_groups_read
	rows_total rows_read rows_matched bytes_total bytes_read partitions_total partitions_pruned duration_ms`)

func scanStats(s engine.ScanStats) sql.Row {
	rowsTotal := any(s.RowsTotal)
	if s.RowsTotal < 0 {
		rowsTotal = nil
	}
	return sql.Row{s.FilesTotal, s.FilesPruned, s.FilesRead, s.RowGroupsTotal, s.RowGroupsPruned, s.RowGroupsRead,
		rowsTotal, s.RowsRead, s.RowsMatched, s.BytesTotal, s.BytesRead, s.PartitionsTotal, s.PartitionsPruned, s.Duration.Milliseconds()}
}

func showScanStats(ctx *sql.Context, _ *Call) ([]sql.Row, error) {
	s, ok := ctx.Session.(*sqltable.Session)
	if !ok {
		return nil, nil
	}
	stats, scans := s.LastScanStats()
	if scans == 0 {
		note(ctx, "no statement of this session has read a table")
		return nil, nil
	}
	return []sql.Row{scanStats(stats)}, nil
}

func (p *Procedures) helpProcedures() []*Procedure {
	return []*Procedure{{
		Name: "help", Doc: "Lists the procedures, or says how one is called.",
		Params:   []Param{{Name: "cmd", Type: String, Doc: "name of a procedure"}},
		Result:   sql.Schema{textColumn("result")},
		ReadOnly: true,
		Run:      p.help,
	}}
}

func (p *Procedures) help(_ *sql.Context, c *Call) ([]sql.Row, error) {
	if cmd := c.String("cmd"); cmd != "" {
		proc := p.find(cmd)
		if proc == nil {
			return nil, sql.ErrStoredProcedureDoesNotExist.New(cmd)
		}
		return []sql.Row{{describe(proc)}}, nil
	}
	var rows []sql.Row
	for _, proc := range p.list {
		rows = append(rows, sql.Row{proc.Signature() + ": " + proc.Doc})
	}
	return rows, nil
}

// describe is the page of one procedure.
func describe(p *Procedure) string {
	var b strings.Builder
	b.WriteString("CALL " + p.Signature() + "\n" + p.Doc + "\n")
	for _, q := range p.Params {
		b.WriteString("  " + q.Name + " " + q.Type.String())
		if q.Doc != "" {
			b.WriteString(": " + q.Doc)
		}
		b.WriteString("\n")
	}
	names := make([]string, len(p.Result))
	for i, c := range p.Result {
		names[i] = c.Name
	}
	b.WriteString("Result: " + strings.Join(names, ", "))
	return b.String()
}
