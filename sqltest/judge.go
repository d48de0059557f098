package sqltest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// outcome is what a statement gave.
type outcome struct {
	err *mysql.MySQLError

	// resultSet says that columns and rows are those of one; else affected is the number of rows
	// changed, or -1 where it was not asked for.
	resultSet bool
	columns   []ColumnSpec
	rows      [][]cell
	affected  int64

	warnings []string // full lines of SHOW WARNINGS; only when the statement checks them
}

// block is the outcome as the lines under a separator.
func (o *outcome) block(sorted bool) []string {
	switch {
	case o.err != nil:
		return []string{doubleDollars(errorText(o.err))}
	case o.resultSet:
		lines := make([]string, len(o.rows))
		for i, r := range o.rows {
			lines[i] = formatRow(r)
		}
		if sorted {
			slices.Sort(lines)
		}
		return lines
	case o.affected >= 0:
		return []string{fmt.Sprintf("affected %d", o.affected)}
	}
	return []string{"ok"}
}

func errorText(e *mysql.MySQLError) string {
	state := ""
	if e.SQLState[0] != 0 {
		state = fmt.Sprintf(" (%s)", e.SQLState[:])
	}
	return fmt.Sprintf("error %d%s: %s", e.Number, state, oneLine(e.Message))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// expander replaces the references in a line of a block: in rows, where values are escaped as
// cells are, and in the texts of errors and warnings, where nothing is escaped.
type expander struct {
	cells, text func(line string) (string, error)
}

// judge compares an outcome with what the statement must give. It returns how they differ, or "".
func judge(s *Statement, o *outcome, mode Mode, x expander) (string, error) {
	var failures []string
	f, err := judgeOutcome(s, o, mode, x)
	if err != nil {
		return "", err
	}
	if f != "" {
		failures = append(failures, f)
	}
	if o.err == nil && s.Columns != nil && !columnsMatch(s.Columns, o.columns) {
		failures = append(failures, fmt.Sprintf("columns: want %s\n          got %s", columnsLine(s.Columns), columnsLine(o.columns)))
	}
	if s.Warnings != nil {
		want := make([]string, len(s.Warnings))
		for i, l := range s.Warnings {
			if want[i], err = x.text(l); err != nil {
				return "", err
			}
		}
		if !slices.EqualFunc(want, o.warnings, warningMatches) {
			failures = append(failures, "warnings:\n"+lineDiff(want, o.warnings))
		}
	}
	return strings.Join(failures, "\n"), nil
}

func judgeOutcome(s *Statement, o *outcome, mode Mode, x expander) (string, error) {
	e := s.Expect
	if e == nil {
		e = &Expectation{Outcome: OK}
	}
	if e.Outcome == Error {
		fragment, err := x.text(e.Fragment)
		if err != nil {
			return "", err
		}
		return judgeError(e, fragment, o), nil
	}
	if o.err != nil {
		return "want " + e.summary() + "\n got " + errorText(o.err), nil
	}
	switch {
	case e.Outcome == OK:
		return "", nil
	case e.Outcome == Affected:
		if o.resultSet || o.affected != e.Affected {
			return lineDiff([]string{e.summary()}, o.block(s.Sorted)), nil
		}
		return "", nil
	case !o.resultSet:
		return "want " + e.summary() + "\n got " + o.block(false)[0], nil
	}
	want := make([][]cell, len(e.Lines))
	for i, l := range e.Lines {
		expanded, err := x.cells(l)
		if err != nil {
			return "", err
		}
		if want[i], err = parseRow(expanded); err != nil {
			return "", err
		}
	}
	return judgeRows(want, o, s.Sorted, mode), nil
}

func (e *Expectation) summary() string {
	switch e.Outcome {
	case OK:
		return "success"
	case Affected:
		return fmt.Sprintf("affected %d", e.Affected)
	case Error:
		return "an error"
	}
	return fmt.Sprintf("a result of %d rows", len(e.Lines))
}

func judgeError(e *Expectation, fragment string, o *outcome) string {
	want := "error"
	if e.Code != 0 {
		want += fmt.Sprintf(" %d", e.Code)
	}
	if e.State != "" {
		want += fmt.Sprintf(" (%s)", e.State)
	}
	if fragment != "" {
		want += ": …" + fragment + "…"
	}
	if o.err == nil {
		return "want " + want + "\n got success"
	}
	if e.Code != 0 && e.Code != int(o.err.Number) || e.State != "" && e.State != string(o.err.SQLState[:]) ||
		!strings.Contains(oneLine(o.err.Message), oneLine(fragment)) {
		return "want " + want + "\n got " + errorText(o.err)
	}
	return ""
}

func judgeRows(want [][]cell, o *outcome, sorted bool, mode Mode) string {
	spell := func(rows [][]cell) []string {
		lines := make([]string, len(rows))
		for i, r := range rows {
			same := make([]cell, len(r))
			for j, c := range r {
				if j < len(o.columns) {
					c = normal(c, o.columns[j].Type, mode)
				}
				same[j] = c
			}
			lines[i] = formatRow(same)
		}
		if sorted {
			slices.Sort(lines)
		}
		return lines
	}
	wanted, got := spell(want), spell(o.rows)
	if slices.Equal(wanted, got) {
		return ""
	}
	return lineDiff(wanted, got)
}

var fraction = regexp.MustCompile(`^(.*:\d\d)\.(\d*?)0*$`)

// normal gives one spelling to values that the two protocols, or a person, spell differently:
// floating-point numbers, and fractions of seconds, which prepared statements fill up with zeros.
func normal(c cell, typ string, mode Mode) cell {
	if c.null {
		return c
	}
	base, _, _ := strings.Cut(typ, "(")
	switch base {
	case "DOUBLE":
		if v, err := strconv.ParseFloat(c.text, 64); err == nil {
			c.text = formatFloat(v, 64)
		}
	case "FLOAT":
		if v, err := strconv.ParseFloat(c.text, 32); err == nil {
			c.text = formatFloat(v, 32)
		}
	case "DATETIME", "TIMESTAMP", "TIME":
		if m := fraction.FindStringSubmatch(c.text); m != nil && mode == Prepared {
			c.text = strings.TrimSuffix(m[1]+"."+m[2], ".")
		}
	}
	return c
}

// formatFloat is the shortest text that reads back as v, with an exponent only where MySQL has one.
func formatFloat(v float64, bits int) string {
	if v != 0 && (v >= 1e15 || v <= -1e15 || -1e-15 < v && v < 1e-15) {
		return strings.Replace(strconv.FormatFloat(v, 'e', -1, bits), "e+", "e", 1)
	}
	return strconv.FormatFloat(v, 'f', -1, bits)
}

func columnsMatch(want, got []ColumnSpec) bool {
	return slices.EqualFunc(want, got, func(w, g ColumnSpec) bool {
		base, _, _ := strings.Cut(g.Type, "(")
		return w.Name == g.Name && (w.Type == "" || w.Type == g.Type || w.Type == base)
	})
}

func columnsLine(columns []ColumnSpec) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = escape(c.Name)
		if c.Type != "" {
			parts[i] += ":" + c.Type
		}
	}
	return strings.Join(parts, " | ")
}

// warningMatches compares "Level Code: fragment" with a full line.
func warningMatches(want, got string) bool {
	head, fragment, _ := strings.Cut(want, ":")
	gotHead, message, _ := strings.Cut(got, ":")
	return head == gotHead && strings.Contains(message, strings.TrimSpace(fragment))
}
