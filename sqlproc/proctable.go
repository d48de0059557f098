package sqlproc

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/ingest"
)

var (
	paramTable = Param{Name: "table", Type: String, Doc: "name, or database.name"}
	paramPath  = Param{Name: "path", Type: String, Doc: "base path, instead of table"}
)

func required(p Param) Param { p.Required = true; return p }

func (p *Procedures) tableProcedures() []*Procedure {
	result := sql.Schema{textColumn("result")}
	return []*Procedure{{
		Name: "attach_table", Doc: "Serves the Hudi table at a path under a name, without copying it.",
		Params: []Param{required(paramTable), {Name: "path", Type: String, Required: true, Doc: "base path of the table"}},
		Result: result,
		Needs:  []sql.PrivilegeType{sql.PrivilegeType_Create}, OnDatabase: true,
		Run: func(ctx *sql.Context, c *Call) ([]sql.Row, error) {
			database, name, err := c.tableName(ctx)
			if err != nil {
				return nil, err
			}
			t, err := p.w.AttachTable(ctx, database, name, c.String("path"))
			if err != nil {
				return nil, err
			}
			return []sql.Row{{fmt.Sprintf("%s.%s is %s", t.Database(), t.Name(), t.BasePath())}}, nil
		},
	}, {
		Name: "detach_table", Doc: "Stops serving an attached table; its files stay.",
		Params: []Param{required(paramTable)},
		Result: result,
		Needs:  []sql.PrivilegeType{sql.PrivilegeType_Drop},
		Run: func(ctx *sql.Context, c *Call) ([]sql.Row, error) {
			database, name, err := c.tableName(ctx)
			if err != nil {
				return nil, err
			}
			if err := p.w.DetachTable(ctx, database, name); err != nil {
				return nil, err
			}
			return []sql.Row{{fmt.Sprintf("%s.%s is no longer served; its files stay", database, name)}}, nil
		},
	}}
}

func (p *Procedures) importProcedures() []*Procedure {
	return []*Procedure{{
		Name: "import_files", Doc: "Inserts Parquet or CSV files of the server into a table, in one commit.",
		Params: []Param{
			required(paramTable),
			{Name: "path", Type: String, Required: true, Doc: "file, directory or pattern; relative to the warehouse"},
			{Name: "format", Type: String, Doc: "parquet or csv; told by the files when left out"},
			{Name: "header", Type: Bool, Doc: "whether the first line of a CSV file names the columns; told by the file when left out"},
			{Name: "delimiter", Type: String, Doc: "of CSV fields"},
			{Name: "options", Type: String, Doc: "k1=v1,k2=v2: hoodie.* options of the write"},
		},
		Result: sql.Schema{longColumn("files"), longColumn("rows"), longColumn("bytes"), textColumn("commit_time")},
		Needs:  []sql.PrivilegeType{sql.PrivilegeType_Insert},
		Run:    p.importFiles,
	}}
}

func (p *Procedures) importFiles(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	paths, err := p.expand(c.String("path"))
	if err != nil {
		return nil, err
	}
	o := ingest.Options{}
	if o.Format, err = ingest.ParseFormat(c.String("format")); err != nil {
		return nil, c.Wrong("format", err.Error())
	}
	if c.Given("header") {
		o.Header = ingest.HeaderAbsent
		if c.Bool("header") {
			o.Header = ingest.HeaderPresent
		}
	}
	if d := c.String("delimiter"); d != "" {
		if d == `\t` {
			d = "\t"
		}
		r, n := utf8.DecodeRuneInString(d)
		if n != len(d) || r == utf8.RuneError {
			return nil, c.Wrong("delimiter", "it is one character")
		}
		o.Delimiter = r
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	over, err := c.options(ctx)
	if err != nil {
		return nil, err
	}
	progress := newProgress(ctx, "import into "+t.Name())
	defer progress.end()
	o.OnProgress = func(at ingest.Progress) { progress.set(at.Bytes, at.Total) }
	w, err := t.BeginInsert(ctx, engine.InsertOptions{Config: t.Options(over), Operation: "BULK_INSERT"})
	if err != nil {
		return nil, err
	}
	done, err := ingest.Import(ctx, w, paths, o)
	if err != nil {
		return nil, abort(ctx, w, importError(err))
	}
	commit, err := w.Commit(ctx)
	if err != nil {
		return nil, abort(ctx, w, err)
	}
	if commit.RowsDropped > 0 {
		note(ctx, fmt.Sprintf("%d rows with record keys that exist were left out", commit.RowsDropped))
	}
	if commit.Instant == "" {
		note(ctx, "there was nothing to commit")
		return []sql.Row{{int64(done.Files), int64(0), done.Bytes, nil}}, nil
	}
	return []sql.Row{{int64(done.Files), commit.RowsWritten, done.Bytes, commit.Instant}}, nil
}

// abort takes an uncommitted write back, also when the context of the statement is done.
func abort(ctx context.Context, w *engine.Write, cause error) error {
	// A write that cannot be aborted now is rolled back when the table is next opened.
	_ = w.Abort(context.WithoutCancel(ctx))
	return cause
}

// expand lists the files that a user's pattern means. Each of them is checked by itself: a link
// below an allowed directory may lead out of it.
func (p *Procedures) expand(pattern string) ([]string, error) {
	allowed, err := p.w.ResolvePath(pattern)
	if err != nil {
		return nil, err
	}
	paths, err := ingest.Expand(allowed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrBadArgument, err)
	}
	for i, path := range paths {
		if paths[i], err = p.w.ResolvePath(path); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// progress is how far a procedure has come, as SHOW PROCESSLIST shows it.
type progress struct {
	ctx   *sql.Context
	name  string
	done  int64
	begun bool
}

func newProgress(ctx *sql.Context, name string) *progress {
	return &progress{ctx: ctx, name: strings.TrimSpace(name)}
}

// set may be called by one goroutine at a time.
func (p *progress) set(done, total int64) {
	if p.ctx.ProcessList == nil {
		return
	}
	if !p.begun {
		p.ctx.ProcessList.AddTableProgress(p.ctx.Pid(), p.name, total)
		p.begun = true
	}
	if d := done - p.done; d > 0 {
		p.ctx.ProcessList.UpdateTableProgress(p.ctx.Pid(), p.name, d)
		p.done = done
	}
}

func (p *progress) end() {
	if p.begun {
		p.ctx.ProcessList.RemoveTableProgress(p.ctx.Pid(), p.name)
	}
}
