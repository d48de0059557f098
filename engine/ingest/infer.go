package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
)

// sampleRecords is how much of a CSV file InferSchema looks at.
const sampleRecords = 10_000

// InferSchema says what table a file would make. A Parquet file has a schema, of which meta columns
// are left out. Of a CSV file the first records are tried: a column is of the first of these types
// that takes all of its values, int64, float64, date, timestamp, bool, string, and nullable. Numbers
// with leading zeros, as codes have them, are strings. Without header the columns are column1, column2, …
func InferSchema(ctx context.Context, path string, o Options) (*column.Schema, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	f, err := o.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	format, err := formatOf(f, path, o.Format)
	if err != nil {
		return nil, err
	}
	if format == Parquet {
		x, err := basefile.Open(f, path)
		if err != nil {
			return nil, err
		}
		return x.Schema().WithoutMeta(), nil
	}
	file, err := openCSVFile(f, path, o.Delimiter)
	if err != nil {
		return nil, err
	}
	defer file.release()
	return inferCSV(ctx, file, &o)
}

func inferCSV(ctx context.Context, file *csvFile, o *Options) (*column.Schema, error) {
	record, err := file.record()
	if errors.Is(err, io.EOF) {
		return nil, &FormatError{File: file.path, Reason: "the file is empty, so nothing is known of its columns"}
	}
	if err != nil {
		return nil, err
	}
	first := append([]string{}, record...)
	for i := range first {
		first[i] = strings.Clone(first[i])
	}
	guesses := make([]guess, len(first))
	trailing := true // every record ends in a delimiter, so that its last field is empty
	for n := 1; n < sampleRecords; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		record, err := file.record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(record) != len(first) {
			return nil, &FormatError{File: file.path, Line: file.line(),
				Reason: fmt.Sprintf("%s, the first record has %d", count(len(record), "field"), len(first))}
		}
		for i, s := range record {
			guesses[i].see(s, o.NullText)
		}
		trailing = trailing && record[len(record)-1] == ""
	}
	n := len(first)
	if n > 1 && first[n-1] == "" && trailing {
		n--
	}
	header := o.Header == HeaderPresent || o.Header == HeaderAuto && isHeader(first[:n], o.NullText)
	if !header {
		for i, s := range first {
			guesses[i].see(s, o.NullText)
		}
	}
	s := &column.Schema{Fields: make([]column.Field, n)}
	for i := range n {
		name := fmt.Sprintf("column%d", i+1)
		if header {
			name = strings.TrimSpace(first[i])
		}
		if name == "" {
			return nil, &FormatError{File: file.path, Line: 1, Reason: fmt.Sprintf("the header has no name for field %d", i+1)}
		}
		if s.IndexFold(name) >= 0 {
			return nil, &ColumnsError{File: file.path, Twice: []string{name}}
		}
		s.Fields[i] = column.Field{Name: name, Type: guesses[i].columnType(), Nullable: true}
	}
	return s.WithoutMeta(), nil
}

var headerName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ .-]*$`)

// isHeader reports whether the first record looks like names: distinct words, none of which reads
// as a number, a date or a truth value.
func isHeader(first []string, nullText string) bool {
	seen := map[string]bool{}
	for _, s := range first {
		s = strings.ToLower(strings.TrimSpace(s))
		if !headerName.MatchString(s) || seen[s] {
			return false
		}
		seen[s] = true
		var g guess
		if g.see(s, nullText); g.columnType().Kind != column.String {
			return false
		}
	}
	return true
}

// candidates are the types that a guess tries, in order; string takes everything.
var candidates = []column.Kind{column.Int64, column.Float64, column.Date, column.Timestamp, column.Bool}

// guess is what the values of a column seen so far can be.
type guess struct {
	values   bool // a value that is not null was seen
	rejected [5]bool
}

func (g *guess) see(s, nullText string) {
	if s == nullText || s == "" {
		return
	}
	g.values = true
	for i, k := range candidates {
		if !g.rejected[i] {
			g.rejected[i] = !takes(k, s)
		}
	}
}

func takes(k column.Kind, s string) bool {
	t := strings.TrimSpace(s)
	switch k {
	case column.Int64, column.Float64:
		if !strings.ContainsAny(t, "0123456789") { // nan and inf are words, too
			return false
		}
		if d := strings.TrimLeft(t, "+-"); len(d) > 1 && d[0] == '0' && '0' <= d[1] && d[1] <= '9' {
			return false
		}
	}
	return parserOf(column.Type{Kind: k})(column.NewBuilder(column.Type{Kind: k}, 1), s) == nil
}

func (g *guess) columnType() column.Type {
	if g.values {
		for i, k := range candidates {
			if !g.rejected[i] {
				return column.Type{Kind: k}
			}
		}
	}
	return column.Type{Kind: column.String}
}
