package sqltest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is one value of a row in the spelling of scripts, which is the same for both protocols.
type cell struct {
	text string // the value itself, not escaped
	null bool
}

// String is the cell as scripts write it.
func (c cell) String() string {
	switch {
	case c.null:
		return "NULL"
	case c.text == "":
		return "''"
	case c.text == "NULL", c.text == "''":
		return `\` + c.text
	}
	return doubleDollars(escape(c.text))
}

// doubleDollars keeps text from being read as references by substitute.
func doubleDollars(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '$' && startsReference(s[i+1:]) {
			b.WriteByte('$')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// escape writes what would be lost, or mistaken for something else, with a backslash.
func escape(s string) string {
	var b strings.Builder
	last := len(s) - 1
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\' || r == '|':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && n == 1, r == ' ' && (i == 0 || i == last), !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unescape undoes escape. A backslash before any other character stands for that character.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", errors.New("a backslash at the end")
		}
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'x':
			if i+2 >= len(s) {
				return "", errors.New(`\x needs two digits`)
			}
			v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", fmt.Errorf(`\x needs two hexadecimal digits, not %q`, s[i+1:i+3])
			}
			b.WriteByte(byte(v))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// splitCells takes a line apart at tabs, or, if it has none, at | not behind a backslash. The
// parts are trimmed, not unescaped.
func splitCells(line string) []string {
	var parts []string
	if strings.Contains(line, "\t") {
		parts = strings.Split(line, "\t")
	} else {
		from := 0
		for i := 0; i < len(line); i++ {
			switch line[i] {
			case '\\':
				i++
			case '|':
				parts = append(parts, line[from:i])
				from = i + 1
			}
		}
		parts = append(parts, line[from:])
	}
	for i := range parts {
		parts[i] = strings.Trim(parts[i], " ")
	}
	return parts
}

// parseRow reads a line of a block.
func parseRow(line string) ([]cell, error) {
	parts := splitCells(line)
	row := make([]cell, len(parts))
	for i, p := range parts {
		switch p {
		case "NULL":
			row[i].null = true
		case "''", "":
		default:
			text, err := unescape(p)
			if err != nil {
				return nil, fmt.Errorf("value %d: %w", i+1, err)
			}
			row[i].text = text
		}
	}
	return row, nil
}

// formatRow writes a row so that parseRow reads it back and outcome takes it for a row.
func formatRow(row []cell) string {
	parts := make([]string, len(row))
	for i, c := range row {
		parts[i] = c.String()
	}
	line := strings.Join(parts, " | ")
	if line == "ok" || affected.MatchString(line) || errorLine.MatchString(line) ||
		strings.HasPrefix(line, separator) {
		line = `\` + line
	}
	return line
}
