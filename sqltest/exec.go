package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// changes matches statements that answer with a number of rows instead of a result set.
var changes = regexp.MustCompile(`(?i)^\s*(?:insert|replace|update|delete|load|merge)\b`)

// run runs a statement on the current connection. Errors of the server are outcomes; the error is
// for a connection that can no longer be used, and for a server that does not answer in time.
func (p *player) run(ctx context.Context, s *Statement, text string, asText bool) (*outcome, error) {
	limited, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	o, err := p.runOn(limited, s, text, asText)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no answer within %s: %s", p.opts.Timeout, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return o, nil
}

func (p *player) runOn(ctx context.Context, s *Statement, text string, asText bool) (*outcome, error) {
	o := &outcome{affected: -1}
	err := p.answer(ctx, o, s, text, asText)
	if err != nil {
		if !errors.As(err, &o.err) {
			return nil, err
		}
	}
	if s.Warnings != nil {
		o.warnings, err = p.warnings(ctx)
		if err != nil {
			return nil, fmt.Errorf("SHOW WARNINGS after: %w", err)
		}
	}
	return o, nil
}

// answer runs the statement and keeps what comes.
func (p *player) answer(ctx context.Context, o *outcome, s *Statement, text string, asText bool) error {
	query := func() (*sql.Rows, error) { return p.current.QueryContext(ctx, text, s.Args...) }
	exec := func() (sql.Result, error) { return p.current.ExecContext(ctx, text, s.Args...) }
	if !asText {
		stmt, err := p.current.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer stmt.Close()
		query = func() (*sql.Rows, error) { return stmt.QueryContext(ctx, s.Args...) }
		exec = func() (sql.Result, error) { return stmt.ExecContext(ctx, s.Args...) }
	}
	if changes.MatchString(text) || s.Expect != nil && s.Expect.Outcome == Affected {
		res, err := exec()
		if err != nil {
			return err
		}
		o.affected, err = res.RowsAffected()
		return err
	}
	rows, err := query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		if err := o.read(rows); err != nil {
			return err
		}
		if !rows.NextResultSet() {
			return errors.Join(rows.Err(), rows.Close())
		}
	}
}

// read adds the rows of one result set; the columns are those of the first.
func (o *outcome) read(rows *sql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if len(types) > 0 && !o.resultSet {
		o.resultSet = true
		o.columns = make([]ColumnSpec, len(types))
		for i, t := range types {
			o.columns[i] = ColumnSpec{Name: t.Name(), Type: typeName(t)}
		}
	}
	values := make([]any, len(types))
	dest := make([]any, len(types))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		row := make([]cell, len(values))
		for i, v := range values {
			row[i] = cellOf(v)
		}
		o.rows = append(o.rows, row)
	}
	return rows.Err()
}

// typeName is the driver's name of a column type, with precision and scale of a decimal.
func typeName(t *sql.ColumnType) string {
	name := t.DatabaseTypeName()
	if precision, scale, ok := t.DecimalSize(); ok && name == "DECIMAL" {
		return fmt.Sprintf("%s(%d,%d)", name, precision, scale)
	}
	return name
}

func cellOf(v any) cell {
	switch v := v.(type) {
	case nil:
		return cell{null: true}
	case []byte:
		return cell{text: string(v)}
	case string:
		return cell{text: v}
	case int64:
		return cell{text: strconv.FormatInt(v, 10)}
	case uint64:
		return cell{text: strconv.FormatUint(v, 10)}
	case float32:
		return cell{text: formatFloat(float64(v), 32)}
	case float64:
		return cell{text: formatFloat(v, 64)}
	case time.Time:
		return cell{text: v.Format("2006-01-02 15:04:05.999999")}
	}
	return cell{text: fmt.Sprint(v)}
}

func (p *player) warnings(ctx context.Context) (lines []string, err error) {
	rows, err := p.current.QueryContext(ctx, "SHOW WARNINGS")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var level, message string
		var code int
		if err := rows.Scan(&level, &code, &message); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s %d: %s", level, code, oneLine(message)))
	}
	return lines, rows.Err()
}
