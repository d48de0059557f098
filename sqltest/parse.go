package sqltest

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// separator stands between a statement and what it must give.
const separator = "----"

// blank is what may stand at the end of a line without meaning.
const blank = " \t\r"

var (
	identifier  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	orderBy     = regexp.MustCompile(`(?is)\border\s+by\b`)
	errorLine   = regexp.MustCompile(`^error(?: ([0-9]+))?(?: \(([0-9A-Z]{5})\))?(?:: *(.*))?$`)
	affected    = regexp.MustCompile(`^affected ([0-9]+)$`)
	warningLine = regexp.MustCompile(`^(Note|Warning|Error) [0-9]+(: .*)?$`)
	typedColumn = regexp.MustCompile(`^(.*):([A-Z][A-Z ]*(?:\([0-9]+,[0-9]+\))?)$`)
	fileLine    = regexp.MustCompile(`^(\S+) <<([A-Za-z_]+)$`)
	letLine     = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)
)

// Parse reads a script. name is used in messages, and its base without extension names the
// database. Errors are *ParseError except those of r.
func Parse(name string, r io.Reader) (*Script, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &parser{
		s:     &Script{Name: name, Database: databaseName(name), lines: strings.Split(string(data), "\n")},
		known: map[string]bool{"TMP": true, "DB": true},
		files: map[string]bool{},
	}
	if !utf8.Valid(data) {
		return nil, p.errorf(1+bytes.Count(data[:invalidUTF8(data)], []byte("\n")), "not UTF-8")
	}
	for p.pos < len(p.s.lines) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if p.stmt != nil {
		return nil, p.errorf(p.stmt.Line, "a directive that belongs to a statement, but no statement follows")
	}
	return p.s, nil
}

// invalidUTF8 is the offset of the first byte that is not UTF-8.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// databaseName makes a name of a path: lower-case, of letters, digits and underscores.
func databaseName(name string) string {
	base := strings.ToLower(strings.TrimSuffix(path.Base(name), path.Ext(name)))
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, base)
}

type parser struct {
	s    *Script
	pos  int        // index of the next line
	stmt *Statement // that directives belong to, not read itself yet
	// orderGiven says that a directive of stmt is sorted or ordered.
	orderGiven bool

	known map[string]bool // variables set so far
	files map[string]bool // written so far
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return &ParseError{Name: p.s.Name, Line: line, Problem: fmt.Sprintf(format, args...)}
}

// step reads one directive or statement, or passes over a blank line or a comment.
func (p *parser) step() error {
	line := strings.TrimRight(p.s.lines[p.pos], blank)
	at := p.pos + 1
	if line == "" || strings.HasPrefix(line, "#") {
		p.pos++
		return nil
	}
	if strings.HasPrefix(line, separator) {
		return p.errorf(at, "%s without a statement above it (a blank line ends a block)", separator)
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "connection", "disconnect", "database", "file", "let":
		if p.stmt != nil {
			return p.errorf(at, "%q cannot stand between a statement and its directives", word)
		}
	}
	switch word {
	case "connection", "disconnect":
		if !identifier.MatchString(rest) {
			return p.errorf(at, "%s needs a name", word)
		}
		p.pos++
		if word == "connection" {
			p.s.Steps = append(p.s.Steps, &Connection{Line: at, Name: rest})
		} else {
			p.s.Steps = append(p.s.Steps, &Disconnect{Line: at, Name: rest})
		}
		return nil
	case "database":
		return p.database(at, rest)
	case "file":
		return p.file(at, rest)
	case "let":
		return p.let(at, rest)
	case "sorted", "ordered", "skip-prepared":
		if rest != "" {
			return p.errorf(at, "%s takes no argument, but has %q", word, rest)
		}
		return p.directive(word, rest)
	case "columns", "args":
		if rest == "" {
			return p.errorf(at, "%s needs a list separated by |", word)
		}
		return p.directive(word, rest)
	}
	return p.statement()
}

func (p *parser) database(at int, rest string) error {
	if len(p.s.Steps) > 0 {
		return p.errorf(at, "database must come before everything else")
	}
	switch {
	case rest == "none":
		p.s.Database = ""
	case identifier.MatchString(rest):
		p.s.Database = rest
	default:
		return p.errorf(at, `database needs a name, or "none"`)
	}
	p.pos++
	return nil
}

func (p *parser) file(at int, rest string) error {
	m := fileLine.FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(at, "a file is written: file NAME <<END, lines, END")
	}
	name, end := m[1], m[2]
	if name != path.Base(name) || name == "." || name == ".." {
		return p.errorf(at, "file name %q must not have a directory", name)
	}
	var content strings.Builder
	for p.pos++; p.pos < len(p.s.lines); p.pos++ {
		if p.s.lines[p.pos] == end {
			p.pos++
			p.files[name] = true
			p.s.Steps = append(p.s.Steps, &File{Line: at, Name: name, Content: content.String()})
			return nil
		}
		content.WriteString(p.s.lines[p.pos])
		content.WriteByte('\n')
	}
	return p.errorf(at, "file %s has no line %s to end it", name, end)
}

func (p *parser) let(at int, rest string) error {
	m := letLine.FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(at, "a variable is set: let $name = SELECT …;")
	}
	if m[1] == "TMP" || m[1] == "DB" || m[1] == "FILE" {
		return p.errorf(at, "$%s cannot be set", m[1])
	}
	text, err := p.text(at, m[2])
	if err != nil {
		return err
	}
	if p.pos < len(p.s.lines) && strings.HasPrefix(p.s.lines[p.pos], separator) {
		return p.errorf(p.pos+1, "let has no block")
	}
	p.known[m[1]] = true
	p.s.Steps = append(p.s.Steps, &Let{Line: at, Name: m[1], Text: text})
	return nil
}

// pending is the statement that the next one read will be.
func (p *parser) pending() *Statement {
	if p.stmt == nil {
		p.stmt = &Statement{Line: p.pos + 1, columnsLine: -1}
	}
	return p.stmt
}

func (p *parser) directive(word, rest string) error {
	at := p.pos + 1
	s := p.pending()
	switch word {
	case "skip-prepared":
		s.SkipPrepared = true
	case "sorted", "ordered":
		if p.orderGiven {
			return p.errorf(at, "the order of the rows is given twice")
		}
		s.Sorted, p.orderGiven = word == "sorted", true
	case "columns":
		for _, c := range splitCells(rest) {
			spec := ColumnSpec{Name: c}
			if m := typedColumn.FindStringSubmatch(c); m != nil {
				spec.Name, spec.Type = m[1], m[2]
			}
			name, err := unescape(spec.Name)
			if err != nil {
				return p.errorf(at, "column %s: %v", spec.Name, err)
			}
			if spec.Name = name; name == "" {
				return p.errorf(at, "a column without a name")
			}
			s.Columns = append(s.Columns, spec)
		}
		s.columnsLine = p.pos
	case "args":
		for _, c := range splitCells(rest) {
			v, err := parseArg(c)
			if err != nil {
				return p.errorf(at, "%v", err)
			}
			s.Args = append(s.Args, v)
		}
	}
	p.pos++
	return nil
}

func parseArg(c string) (any, error) {
	if c == "NULL" {
		return nil, nil
	}
	if i, err := strconv.ParseInt(c, 10, 64); err == nil {
		return i, nil
	}
	if f, err := strconv.ParseFloat(c, 64); err == nil {
		return f, nil
	}
	if len(c) >= 2 && c[0] == '\'' && c[len(c)-1] == '\'' {
		return unescape(c[1 : len(c)-1])
	}
	return nil, fmt.Errorf("argument %s is no number, NULL or 'text'", c)
}

func (p *parser) statement() error {
	s := p.pending()
	orderGiven := p.orderGiven
	p.stmt, p.orderGiven = nil, false
	s.Line = p.pos + 1
	text, err := p.text(s.Line, p.s.lines[p.pos])
	if err != nil {
		return err
	}
	s.Text = text
	if !orderGiven {
		s.Sorted = !orderBy.MatchString(text)
	}
	if err := p.expectations(s); err != nil {
		return err
	}
	p.s.Steps = append(p.s.Steps, s)
	return nil
}

// text reads a statement, whose first line is given, up to the line that ends in a semicolon.
func (p *parser) text(at int, line string) (string, error) {
	var text strings.Builder
	for {
		if err := p.checkVariables(p.pos+1, line); err != nil {
			return "", err
		}
		p.pos++
		if s, ended := strings.CutSuffix(strings.TrimRight(line, blank), ";"); ended {
			text.WriteString(s)
			if strings.TrimSpace(text.String()) == "" {
				return "", p.errorf(at, "empty statement")
			}
			return text.String(), nil
		}
		text.WriteString(strings.TrimSuffix(line, "\r"))
		text.WriteByte('\n')
		if p.pos < len(p.s.lines) {
			line = p.s.lines[p.pos]
		}
		if p.pos == len(p.s.lines) || strings.TrimRight(line, blank) == "" || strings.HasPrefix(line, separator) {
			return "", p.errorf(at, "the statement does not end in a semicolon")
		}
	}
}

// expectations reads the block under a statement, if there is one.
func (p *parser) expectations(s *Statement) error {
	s.blockFrom, s.block = p.pos, p.pos
	for p.pos < len(p.s.lines) {
		head, isHead := strings.CutPrefix(strings.TrimRight(p.s.lines[p.pos], blank), separator)
		if !isHead {
			break
		}
		at := p.pos + 1
		var lines []string
		for p.pos++; p.pos < len(p.s.lines); p.pos++ {
			l := strings.TrimRight(p.s.lines[p.pos], blank)
			if l == "" || strings.HasPrefix(l, separator) {
				break
			}
			if err := p.checkVariables(p.pos+1, l); err != nil {
				return err
			}
			lines = append(lines, l)
		}
		switch strings.TrimSpace(head) {
		case "":
			if s.Expect != nil {
				return p.errorf(at, "a second block for one statement")
			}
			e, err := p.outcome(at+1, lines)
			if err != nil {
				return err
			}
			s.Expect = e
		case "warnings":
			if s.Warnings != nil {
				return p.errorf(at, "a second block of warnings for one statement")
			}
			s.Warnings = []string{}
			for i, l := range lines {
				if !warningLine.MatchString(l) {
					return p.errorf(at+1+i, `a warning is written: Note 1105: part of the message`)
				}
				s.Warnings = append(s.Warnings, l)
			}
		default:
			return p.errorf(at, "unknown block %q", strings.TrimSpace(head))
		}
	}
	s.block = p.pos
	return nil
}

// outcome understands the lines of a block, the first of which is line at.
func (p *parser) outcome(at int, lines []string) (*Expectation, error) {
	if len(lines) > 0 {
		e := &Expectation{}
		first := lines[0]
		if first == "ok" {
			e.Outcome = OK
		} else if m := affected.FindStringSubmatch(first); m != nil {
			e.Outcome = Affected
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				return nil, p.errorf(at, "affected: %v", err)
			}
			e.Affected = n
		} else if m := errorLine.FindStringSubmatch(first); m != nil {
			e.Outcome, e.State, e.Fragment = Error, m[2], m[3]
			if m[1] != "" {
				n, err := strconv.Atoi(m[1])
				if err != nil {
					return nil, p.errorf(at, "error: %v", err)
				}
				e.Code = n
			}
		}
		if e.Outcome != Rows {
			if len(lines) > 1 {
				return nil, p.errorf(at+1, "nothing can follow %q", first)
			}
			return e, nil
		}
	}
	for i, l := range lines {
		if _, err := parseRow(l); err != nil {
			return nil, p.errorf(at+i, "%v", err)
		}
	}
	return &Expectation{Outcome: Rows, Lines: lines}, nil
}

// checkVariables fails on variables and files that nothing above has set.
func (p *parser) checkVariables(at int, line string) error {
	_, err := substitute(line, func(name, file string) (string, error) {
		switch {
		case file != "" && !p.files[file]:
			return "", fmt.Errorf("no file %s is written above", file)
		case file == "" && !p.known[name]:
			return "", fmt.Errorf("$%s is not set above (a dollar sign is written $$)", name)
		}
		return "", nil
	})
	if err != nil {
		return p.errorf(at, "%v", err)
	}
	return nil
}
