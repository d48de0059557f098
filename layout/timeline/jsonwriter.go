package timeline

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// jsonWriter lays JSON out as Hudi's files are: two blanks a level, a blank on both sides of the
// colon, list items on one line.
type jsonWriter struct {
	buf   []byte
	depth int
	empty bool // nothing yet in the innermost object or list
}

func (w *jsonWriter) open() {
	w.buf = append(w.buf, '{')
	w.depth++
	w.empty = true
}

func (w *jsonWriter) close() {
	w.depth--
	if w.empty {
		w.buf = append(w.buf, ' ', '}')
	} else {
		w.line()
		w.buf = append(w.buf, '}')
	}
	w.empty = false
}

func (w *jsonWriter) key(k string) {
	if !w.empty {
		w.buf = append(w.buf, ',')
	}
	w.empty = false
	w.line()
	w.text(k)
	w.buf = append(w.buf, " : "...)
}

func (w *jsonWriter) openList() {
	w.buf = append(w.buf, '[')
	w.empty = true
}

func (w *jsonWriter) item() {
	if !w.empty {
		w.buf = append(w.buf, ',')
	}
	w.empty = false
	w.buf = append(w.buf, ' ')
}

func (w *jsonWriter) closeList() {
	w.buf = append(w.buf, ' ', ']')
	w.empty = false
}

func (w *jsonWriter) line() {
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, ' ', ' ')
	}
}

func (w *jsonWriter) null()          { w.buf = append(w.buf, "null"...) }
func (w *jsonWriter) bool(b bool)    { w.buf = strconv.AppendBool(w.buf, b) }
func (w *jsonWriter) number(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

func (w *jsonWriter) numberOrNull(n *int64) {
	if n == nil {
		w.null()
	} else {
		w.number(*n)
	}
}

func (w *jsonWriter) textOrNull(s string) {
	if s == "" {
		w.null()
	} else {
		w.text(s)
	}
}

// text writes a string, bytes that are not UTF-8 as U+FFFD.
func (w *jsonWriter) text(s string) {
	const hex = "0123456789ABCDEF"
	b := append(w.buf, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	w.buf = append(b, '"')
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
