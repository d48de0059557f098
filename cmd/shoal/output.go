package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	gsql "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// newOutput makes the output of a format: table, csv or json.
func newOutput(format string, w io.Writer) (output, error) {
	b := bufio.NewWriter(w)
	switch format {
	case "table":
		return &tableOutput{w: b}, nil
	case "csv":
		return &csvOutput{w: b}, nil
	case "json":
		return &jsonOutput{w: b}, nil
	}
	return nil, fmt.Errorf("--format %q: it is table, csv or json", format)
}

// tableOutput draws results as the mysql client does. It has to hold a result, to know how wide
// its columns are.
type tableOutput struct {
	w       *bufio.Writer
	columns gsql.Schema
	rows    [][]cell
	width   []int
}

func (o *tableOutput) begin(columns gsql.Schema) error {
	o.columns, o.rows, o.width = columns, nil, make([]int, len(columns))
	for i, c := range columns {
		o.width[i] = utf8.RuneCountInString(c.Name)
	}
	return nil
}

func (o *tableOutput) row(cells []cell) error {
	row := make([]cell, len(cells))
	for i, c := range cells {
		if c.null {
			c.text = "NULL"
		}
		row[i] = c
		o.width[i] = max(o.width[i], utf8.RuneCountInString(c.text))
	}
	o.rows = append(o.rows, row)
	return nil
}

func (o *tableOutput) end() error {
	if len(o.rows) > 0 {
		o.rule()
		names := make([]cell, len(o.columns))
		for i, c := range o.columns {
			names[i].text = c.Name
		}
		o.line(names, false)
		o.rule()
		for _, r := range o.rows {
			o.line(r, true)
		}
		o.rule()
	}
	o.rows = nil
	return o.w.Flush()
}

func (o *tableOutput) rule() {
	for _, n := range o.width {
		o.w.WriteString("+" + strings.Repeat("-", n+2))
	}
	o.w.WriteString("+\n")
}

func (o *tableOutput) line(cells []cell, values bool) {
	for i, c := range cells {
		pad := strings.Repeat(" ", o.width[i]-utf8.RuneCountInString(c.text))
		if values && types.IsNumber(o.columns[i].Type) {
			o.w.WriteString("| " + pad + c.text + " ")
		} else {
			o.w.WriteString("| " + c.text + pad + " ")
		}
	}
	o.w.WriteString("|\n")
}

// csvOutput writes results as CSV with a line of names, one behind the other. NULL is an empty
// field, the empty string is "".
type csvOutput struct{ w *bufio.Writer }

func (o *csvOutput) begin(columns gsql.Schema) error {
	if len(columns) == 0 {
		return nil
	}
	names := make([]cell, len(columns))
	for i, c := range columns {
		names[i].text = c.Name
	}
	return o.row(names)
}

func (o *csvOutput) row(cells []cell) error {
	for i, c := range cells {
		if i > 0 {
			o.w.WriteByte(',')
		}
		switch {
		case c.null:
		case c.text == "" || strings.ContainsAny(c.text, ",\"\r\n") || c.text != strings.TrimSpace(c.text):
			o.w.WriteString(`"` + strings.ReplaceAll(c.text, `"`, `""`) + `"`)
		default:
			o.w.WriteString(c.text)
		}
	}
	return o.w.WriteByte('\n')
}

func (o *csvOutput) end() error { return o.w.Flush() }

// jsonOutput writes each result as an array of objects, one object a line. Numbers are numbers,
// JSON is itself, bytes are base64, everything else is a string.
type jsonOutput struct {
	w       *bufio.Writer
	columns gsql.Schema
	names   [][]byte
	rows    int
}

func (o *jsonOutput) begin(columns gsql.Schema) error {
	o.columns, o.names, o.rows = columns, nil, 0
	for _, c := range columns {
		name, err := json.Marshal(c.Name)
		if err != nil {
			return err
		}
		o.names = append(o.names, name)
	}
	if len(columns) > 0 {
		o.w.WriteByte('[')
	}
	return nil
}

func (o *jsonOutput) row(cells []cell) error {
	if o.rows > 0 {
		o.w.WriteByte(',')
	}
	o.w.WriteString("\n{")
	o.rows++
	for i, c := range cells {
		if i > 0 {
			o.w.WriteByte(',')
		}
		o.w.Write(o.names[i])
		o.w.WriteByte(':')
		v, err := jsonValue(o.columns[i].Type, c)
		if err != nil {
			return err
		}
		o.w.Write(v)
	}
	return o.w.WriteByte('}')
}

func jsonValue(t gsql.Type, c cell) ([]byte, error) {
	switch {
	case c.null:
		return []byte("null"), nil
	case (types.IsNumber(t) || types.IsJSON(t)) && json.Valid([]byte(c.text)):
		return []byte(c.text), nil
	case types.IsBinaryType(t) || !utf8.ValidString(c.text):
		return json.Marshal(base64.StdEncoding.EncodeToString([]byte(c.text)))
	}
	return json.Marshal(c.text)
}

func (o *jsonOutput) end() error {
	if len(o.columns) > 0 {
		if o.rows > 0 {
			o.w.WriteByte('\n')
		}
		o.w.WriteString("]\n")
	}
	return o.w.Flush()
}
