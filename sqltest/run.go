package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Options shape how a script is played.
type Options struct {
	// Modes to play the whole script in, one after the other; none means Text and Prepared.
	Modes []Mode
	// TempDir is a directory that the server may read; a fresh directory in it is $TMP. Empty
	// means the system's.
	TempDir string
	// Timeout bounds each statement; 0 means a minute.
	Timeout time.Duration
	// Rewrite plays the script as text only and makes Report.Rewritten of what the server gives.
	Rewrite bool
	// KeepDatabase leaves the script's database on the server, to look into it.
	KeepDatabase bool
}

// Run plays a script on the server at dsn, a data source name of go-sql-driver/mysql. Statements
// that do not give what the script says are failures in the report; the error is for what keeps
// the script from being played: no connection, a lost one, no database.
func Run(ctx context.Context, dsn string, script *Script, opts Options) (*Report, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script.Name, err)
	}
	cfg.InterpolateParams = true // arguments travel as text in text mode
	cfg.ParseTime, cfg.MultiStatements = false, false
	cfg.Logger = &mysql.NopLogger{} // what it would say comes as an error, too
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script.Name, err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxIdleConns(0) // a connection given back is closed: no session state lives on

	if len(opts.Modes) == 0 {
		opts.Modes = []Mode{Text, Prepared}
	}
	if opts.Rewrite {
		opts.Modes = []Mode{Text}
	}
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	report := &Report{Script: script.Name}
	for _, mode := range opts.Modes {
		p := &player{db: db, script: script, opts: opts, mode: mode, report: report,
			conns: map[string]*sql.Conn{}, vars: map[string]string{}, blocks: map[*Statement][]string{}}
		if err := p.play(ctx); err != nil {
			return report, fmt.Errorf("%s (%s): %w", script.Name, mode, err)
		}
		if opts.Rewrite {
			report.Rewritten = script.rewritten(p.blocks)
		}
	}
	return report, nil
}

// player plays a script in one mode.
type player struct {
	db     *sql.DB
	script *Script
	opts   Options
	mode   Mode
	report *Report

	conns   map[string]*sql.Conn
	current *sql.Conn
	vars    map[string]string
	files   []string

	blocks map[*Statement][]string // what statements gave whose script differs, for Rewrite
}

// defaultConnection is the connection that a script begins with.
const defaultConnection = "default"

func (p *player) play(ctx context.Context) (err error) {
	tmp, err := os.MkdirTemp(p.opts.TempDir, "sqltest-")
	if err != nil {
		return err
	}
	// The server may run as somebody else.
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	p.vars["TMP"], p.vars["DB"] = tmp, p.script.Database

	if p.script.Database != "" {
		name := quote(p.script.Database)
		if err := p.admin(ctx, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name); err != nil {
			return err
		}
		if !p.opts.KeepDatabase {
			defer func() {
				// Also when ctx has ended: nothing is left behind (I4).
				err = errors.Join(err, p.admin(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+name))
			}()
		}
	}
	defer func() {
		for _, c := range p.conns {
			_ = c.Close() // a connection that is broken has made an error before
		}
	}()
	if err := p.connect(ctx, defaultConnection); err != nil {
		return err
	}
	for _, step := range p.script.Steps {
		if err := p.step(ctx, step); err != nil {
			return fmt.Errorf("line %d: %w", step.At(), err)
		}
	}
	return nil
}

func quote(name string) string { return "`" + name + "`" }

// admin runs statements on a connection of their own.
func (p *player) admin(ctx context.Context, queries ...string) error {
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	for _, q := range queries {
		if _, err := p.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

func (p *player) connect(ctx context.Context, name string) error {
	if c := p.conns[name]; c != nil {
		p.current = c
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	c, err := p.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if p.script.Database != "" {
		if _, err := c.ExecContext(ctx, "USE "+quote(p.script.Database)); err != nil {
			_ = c.Close() // err tells more
			return fmt.Errorf("use %s: %w", p.script.Database, err)
		}
	}
	p.conns[name], p.current = c, c
	return nil
}

func (p *player) step(ctx context.Context, step Step) error {
	switch s := step.(type) {
	case *Connection:
		return p.connect(ctx, s.Name)
	case *Disconnect:
		c := p.conns[s.Name]
		if c == nil {
			return fmt.Errorf("no connection %s is open", s.Name)
		}
		delete(p.conns, s.Name)
		if p.current == c {
			if err := p.connect(ctx, defaultConnection); err != nil {
				return err
			}
		}
		return c.Close()
	case *File:
		p.files = append(p.files, s.Name)
		return os.WriteFile(filepath.Join(p.vars["TMP"], s.Name), []byte(s.Content), 0o644)
	case *Let:
		return p.let(ctx, s)
	case *Statement:
		return p.statement(ctx, s)
	}
	return fmt.Errorf("unknown step %T", step)
}

// value is what a reference stands for.
func (p *player) value(name, file string) (string, error) {
	if file != "" {
		return filepath.Join(p.vars["TMP"], file), nil
	}
	v, ok := p.vars[name]
	if !ok {
		return "", fmt.Errorf("$%s has no value, since the step that sets it failed", name)
	}
	return v, nil
}

func (p *player) expander() expander {
	return expander{
		cells: func(line string) (string, error) {
			return substitute(line, func(name, file string) (string, error) {
				v, err := p.value(name, file)
				return escape(v), err
			})
		},
		text: func(line string) (string, error) { return substitute(line, p.value) },
	}
}

func (p *player) let(ctx context.Context, s *Let) error {
	start := time.Now()
	res := Result{Mode: p.mode, Line: s.Line, AsText: p.mode == Prepared}
	text, err := substitute(s.Text, p.value)
	if err != nil {
		res.Failure = err.Error()
		p.report.Results = append(p.report.Results, res)
		return nil
	}
	res.Text = text
	o, err := p.run(ctx, &Statement{Text: s.Text}, text, true)
	if err != nil {
		return err
	}
	switch {
	case o.err != nil:
		res.Failure = "want one value\n got " + errorText(o.err)
	case len(o.rows) == 0:
		res.Failure = "want one value\n got no row"
	case len(o.rows) != 1 || len(o.rows[0]) != 1 || o.rows[0][0].null:
		res.Failure = "want one value\n got\n" + strings.Join(o.block(false), "\n")
	default:
		p.vars[s.Name] = o.rows[0][0].text
	}
	res.Duration = time.Since(start)
	p.report.Results = append(p.report.Results, res)
	return nil
}

func (p *player) statement(ctx context.Context, s *Statement) error {
	start := time.Now()
	res := Result{Mode: p.mode, Line: s.Line}
	text, err := substitute(s.Text, p.value)
	if err == nil {
		var o *outcome
		res.Text = text
		res.AsText = p.mode == Prepared && s.SkipPrepared
		o, err = p.run(ctx, s, text, p.mode == Text || s.SkipPrepared)
		if err != nil {
			return err
		}
		if !res.AsText && p.mode == Prepared && unpreparable(o, s) {
			res.AsText = true
			if o, err = p.run(ctx, s, text, true); err != nil {
				return err
			}
		}
		mode := p.mode
		if res.AsText {
			mode = Text
		}
		res.Failure, err = judge(s, o, mode, p.expander())
		if res.Failure != "" && p.opts.Rewrite {
			p.blocks[s] = p.restored(s.newBlock(o))
		}
	}
	if err != nil {
		res.Failure = err.Error()
	}
	res.Duration = time.Since(start)
	p.report.Results = append(p.report.Results, res)
	return nil
}

// codeNotPreparable is MySQL's ER_UNSUPPORTED_PS.
const codeNotPreparable = 1295

func unpreparable(o *outcome, s *Statement) bool {
	expected := s.Expect != nil && s.Expect.Code == codeNotPreparable
	return o.err != nil && o.err.Number == codeNotPreparable && !expected
}
