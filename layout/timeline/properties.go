package timeline

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Properties is an ordered text map in the format of java.util.Properties, of which
// hoodie.properties and the partition metadata files are made. The zero value is empty.
type Properties struct {
	keys   []string // in order of first appearance
	values map[string]string
}

// NewProperties makes properties of key, value, key, value, … in this order.
func NewProperties(pairs ...string) *Properties {
	p := &Properties{}
	for i := 0; i+1 < len(pairs); i += 2 {
		p.Set(pairs[i], pairs[i+1])
	}
	return p
}

// Get returns a value, and whether the key is there: present and empty differs from absent.
func (p *Properties) Get(key string) (string, bool) {
	v, ok := p.values[key]
	return v, ok
}

// Set adds a key at the end or changes its value in place.
func (p *Properties) Set(key, value string) {
	if p.values == nil {
		p.values = map[string]string{}
	}
	if _, ok := p.values[key]; !ok {
		p.keys = append(p.keys, key)
	}
	p.values[key] = value
}

// Delete removes a key.
func (p *Properties) Delete(key string) {
	if _, ok := p.values[key]; ok {
		delete(p.values, key)
		p.keys = slices.DeleteFunc(slices.Clone(p.keys), func(k string) bool { return k == key })
	}
}

// Keys returns the keys in order. The result must not be changed.
func (p *Properties) Keys() []string { return p.keys }

// Len is the number of keys.
func (p *Properties) Len() int { return len(p.keys) }

// Map returns a copy of the contents.
func (p *Properties) Map() map[string]string {
	m := make(map[string]string, len(p.values))
	for k, v := range p.values {
		m[k] = v
	}
	return m
}

// Clone returns a copy.
func (p *Properties) Clone() *Properties {
	return &Properties{keys: slices.Clone(p.keys), values: p.Map()}
}

// ParseProperties reads the text form. Of a repeated key the last value counts. The only
// malformed text is a \u that four hexadecimal digits do not follow.
func ParseProperties(text []byte) (*Properties, error) {
	p := &Properties{}
	r := lineReader{rest: text, line: 1}
	for {
		line, number, ok := r.logicalLine()
		if !ok {
			return p, nil
		}
		key, value := splitKey(line)
		k, err := unescape(key)
		if err != nil {
			return nil, fmt.Errorf("properties line %d: key %w", number, err)
		}
		v, err := unescape(value)
		if err != nil {
			return nil, fmt.Errorf("properties line %d: value of %s: %w", number, k, err)
		}
		p.Set(k, v)
	}
}

// lineReader joins natural lines into logical ones.
type lineReader struct {
	rest []byte
	line int // number of the next natural line
}

// natural returns the next line without leading blanks and its end.
func (r *lineReader) natural() ([]byte, bool) {
	if len(r.rest) == 0 {
		return nil, false
	}
	n := slices.IndexFunc(r.rest, func(b byte) bool { return b == '\n' || b == '\r' })
	line := r.rest
	if n < 0 {
		r.rest = nil
	} else {
		line = r.rest[:n]
		if r.rest[n] == '\r' && n+1 < len(r.rest) && r.rest[n+1] == '\n' {
			n++
		}
		r.rest = r.rest[n+1:]
	}
	r.line++
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	return line, true
}

// logicalLine returns the next line that is neither empty nor a comment, with the lines that
// continue it.
func (r *lineReader) logicalLine() (line []byte, number int, ok bool) {
	for {
		number = r.line
		part, ok := r.natural()
		if !ok {
			return nil, 0, false
		}
		if len(part) == 0 || part[0] == '#' || part[0] == '!' {
			continue
		}
		if !continued(part) {
			return part, number, true
		}
		line = append([]byte{}, part[:len(part)-1]...)
		for {
			part, ok := r.natural()
			if ok && continued(part) {
				line = append(line, part[:len(part)-1]...)
				continue
			}
			line = append(line, part...)
			break
		}
		if len(line) > 0 {
			return line, number, true
		}
	}
}

// continued reports whether a line ends in an odd number of backslashes.
func continued(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\f' }

// splitKey cuts a logical line at the first blank, = or : that is not escaped. Blanks and one
// separator between key and value belong to neither.
func splitKey(line []byte) (key, value []byte) {
	end := 0
	for end < len(line) && !isBlank(line[end]) && line[end] != '=' && line[end] != ':' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	key, value = line[:end], line[end:]
	separated := false
	for len(value) > 0 && (isBlank(value[0]) || !separated && (value[0] == '=' || value[0] == ':')) {
		separated = separated || !isBlank(value[0])
		value = value[1:]
	}
	return key, value
}

// unescape decodes ISO-8859-1 with backslash escapes.
func unescape(b []byte) (string, error) {
	var s strings.Builder
	s.Grow(len(b))
	var high rune // the first half of a surrogate pair, waiting for the second
	emit := func(r rune) {
		if high != 0 {
			pair := utf16.DecodeRune(high, r)
			high = 0
			s.WriteRune(pair) // U+FFFD when the two make no pair
			if pair != utf8.RuneError {
				return
			}
		}
		switch {
		case 0xd800 <= r && r < 0xdc00:
			high = r
		default:
			s.WriteRune(r)
		}
	}
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c != '\\' || i+1 == len(b) {
			if c != '\\' {
				emit(rune(c))
			}
			continue
		}
		i++
		switch c = b[i]; c {
		case 't':
			emit('\t')
		case 'n':
			emit('\n')
		case 'r':
			emit('\r')
		case 'f':
			emit('\f')
		case 'u':
			r := rune(0)
			if i+4 >= len(b) {
				return "", fmt.Errorf("%q ends in an incomplete \\u escape", b)
			}
			for _, h := range b[i+1 : i+5] {
				d, ok := hexDigit(h)
				if !ok {
					return "", fmt.Errorf("malformed escape \\u%s", b[i+1:i+5])
				}
				r = r<<4 | d
			}
			emit(r)
			i += 4
		default:
			emit(rune(c))
		}
	}
	if high != 0 {
		s.WriteRune(utf8.RuneError)
	}
	return s.String(), nil
}

func hexDigit(h byte) (rune, bool) {
	switch {
	case '0' <= h && h <= '9':
		return rune(h - '0'), true
	case 'a' <= h && h <= 'f':
		return rune(h-'a') + 10, true
	case 'A' <= h && h <= 'F':
		return rune(h-'A') + 10, true
	}
	return 0, false
}

// Bytes returns the text form: one line a key, in ASCII.
func (p *Properties) Bytes() []byte {
	var b []byte
	for _, k := range p.keys {
		b = appendEscaped(b, k, true)
		b = append(b, '=')
		b = appendEscaped(b, p.values[k], false)
		b = append(b, '\n')
	}
	return b
}

// appendEscaped escapes as java.util.Properties does when it stores: separators and comment
// characters everywhere, blanks everywhere in a key and at the start of a value.
func appendEscaped(b []byte, s string, key bool) []byte {
	for i, r := range s {
		switch r {
		case ' ':
			if key || i == 0 {
				b = append(b, '\\')
			}
			b = append(b, ' ')
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\f':
			b = append(b, `\f`...)
		case '\\', '=', ':', '#', '!':
			b = append(b, '\\', byte(r))
		default:
			switch {
			case 0x20 < r && r < 0x7f:
				b = append(b, byte(r))
			case r > 0xffff:
				hi, lo := utf16.EncodeRune(r)
				b = fmt.Appendf(b, "\\u%04X\\u%04X", hi, lo)
			default:
				b = fmt.Appendf(b, "\\u%04X", r)
			}
		}
	}
	return b
}
