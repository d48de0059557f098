package column

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// ErrJSON is wrapped by the errors of Builder.AppendJSON.
var ErrJSON = errors.New("JSON does not fit the column")

// AppendJSON parses JSON text in the form that the function AppendJSON writes and appends it as one
// row. Struct fields may come in any order; a missing nullable one is null. Numbers must fit without
// rounding, except into floats. On an error, which wraps ErrJSON and names the place, the builder is
// as before.
func (b *Builder) AppendJSON(text []byte) error {
	n := b.Len()
	p := jsonReader{text: text}
	err := p.value(b, Field{Type: b.v.Type, Nullable: true})
	if err == nil {
		if p.space(); p.at < len(p.text) {
			err = p.errorf("text after the value")
		}
	}
	if err != nil {
		b.truncate(n)
		return fmt.Errorf("%w: %w", ErrJSON, err)
	}
	return nil
}

// jsonReader reads JSON by the type it is to become, so its depth is that of the type.
type jsonReader struct {
	text []byte
	at   int
	buf  []byte
}

func (p *jsonReader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), p.at)
}

func (p *jsonReader) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips space and returns the byte there, 0 at the end.
func (p *jsonReader) next() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take skips space and the byte c, if it is there.
func (p *jsonReader) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

func (p *jsonReader) literal(word string) bool {
	if p.space(); len(p.text)-p.at < len(word) || string(p.text[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

func (p *jsonReader) value(b *Builder, f Field) error {
	if p.literal("null") {
		if !f.Nullable {
			return p.errorf("null where the type has none")
		}
		b.AppendNull()
		return nil
	}
	switch f.Type.Kind {
	case Bool:
		switch {
		case p.literal("true"):
			b.AppendBool(true)
		case p.literal("false"):
			b.AppendBool(false)
		default:
			return p.errorf("expected true or false")
		}
		return nil
	case List:
		return p.list(b)
	case Map:
		return p.object(b)
	case Struct:
		return p.fields(b)
	}
	start := p.at
	var text []byte
	quoted := p.next() == '"'
	var err error
	if quoted {
		text, err = p.str()
	} else {
		text, err = p.number()
	}
	if err != nil {
		return err
	}
	if err := p.scalar(b, text, quoted); err != nil {
		p.at = start
		return p.errorf("%v", err)
	}
	return nil
}

// number returns the text of a JSON number.
func (p *jsonReader) number() ([]byte, error) {
	p.space()
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			p.at++
			continue
		}
		break
	}
	text := p.text[start:p.at]
	if !json.Valid(text) {
		p.at = start
		return nil, p.errorf("expected a value of the column's type")
	}
	return text, nil
}

// str returns the value of a JSON string, valid until the next call.
func (p *jsonReader) str() ([]byte, error) {
	if !p.take('"') {
		return nil, p.errorf("expected a string")
	}
	start := p.at
	escaped := false
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			raw := p.text[start:p.at]
			p.at++
			if !escaped && utf8.Valid(raw) {
				return raw, nil
			}
			var s string
			if err := json.Unmarshal(p.text[start-1:p.at], &s); err != nil {
				p.at = start
				return nil, p.errorf("malformed string")
			}
			p.buf = append(p.buf[:0], s...)
			return p.buf, nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return nil, p.errorf("control character in a string")
		}
	}
	p.at = len(p.text)
	return nil, p.errorf("string without end")
}

func (p *jsonReader) list(b *Builder) error {
	if !p.take('[') {
		return p.errorf("expected a list")
	}
	element := b.v.Type.Fields[0]
	if !p.take(']') {
		for {
			if err := p.value(b.children[0], element); err != nil {
				return err
			}
			if p.take(']') {
				break
			}
			if !p.take(',') {
				return p.errorf("expected , or ]")
			}
		}
	}
	b.closeEntry()
	return nil
}

func (p *jsonReader) object(b *Builder) error {
	if !p.take('{') {
		return p.errorf("expected an object")
	}
	key, value := b.v.Type.Fields[0], b.v.Type.Fields[1]
	if !p.take('}') {
		for {
			p.space()
			at := p.at
			text, err := p.str()
			if err != nil {
				return err
			}
			if err := p.mapKey(b.children[0], key, text); err != nil {
				p.at = at
				return p.errorf("map key: %v", err)
			}
			if !p.take(':') {
				return p.errorf("expected :")
			}
			if err := p.value(b.children[1], value); err != nil {
				return err
			}
			if p.take('}') {
				break
			}
			if !p.take(',') {
				return p.errorf("expected , or }")
			}
		}
	}
	b.closeEntry()
	return nil
}

// mapKey appends a key from its text; keys that are not scalars are JSON inside the string.
func (p *jsonReader) mapKey(b *Builder, f Field, text []byte) error {
	if f.Type.Kind.Nested() || f.Type.Kind == Bool {
		inner := jsonReader{text: append([]byte(nil), text...)}
		if err := inner.value(b, f); err != nil {
			return err
		}
		if inner.space(); inner.at < len(inner.text) {
			return inner.errorf("text after the value")
		}
		return nil
	}
	quoted := true
	switch f.Type.Kind {
	case Int32, Int64, Decimal:
		quoted = false
	case Float32, Float64:
		quoted = !json.Valid(text)
	}
	return p.scalar(b, text, quoted)
}

func (p *jsonReader) fields(b *Builder) error {
	if !p.take('{') {
		return p.errorf("expected an object")
	}
	row := b.Len()
	if !p.take('}') {
		for {
			name, err := p.str()
			if err != nil {
				return err
			}
			s := Schema{Fields: b.v.Type.Fields}
			j := s.Index(string(name))
			if j < 0 {
				return p.errorf("no field %q", name)
			}
			if b.children[j].Len() > row {
				return p.errorf("field %q twice", name)
			}
			if !p.take(':') {
				return p.errorf("expected :")
			}
			if err := p.value(b.children[j], s.Fields[j]); err != nil {
				return fmt.Errorf("field %q: %w", s.Fields[j].Name, err)
			}
			if p.take('}') {
				break
			}
			if !p.take(',') {
				return p.errorf("expected , or }")
			}
		}
	}
	for j, f := range b.v.Type.Fields {
		if b.children[j].Len() > row {
			continue
		}
		if !f.Nullable {
			return p.errorf("field %q is missing", f.Name)
		}
		b.children[j].AppendNull()
	}
	b.present()
	return nil
}

// scalar appends a value from the text of a JSON number or the contents of a JSON string.
func (p *jsonReader) scalar(b *Builder, text []byte, quoted bool) error {
	t := b.v.Type
	switch t.Kind {
	case Int32, Int64, Decimal:
		if quoted {
			return fmt.Errorf("expected a number")
		}
	case Float32, Float64:
	default:
		if !quoted {
			return fmt.Errorf("expected a string")
		}
	}
	switch t.Kind {
	case Int32, Int64:
		size := 64
		if t.Kind == Int32 {
			size = 32
		}
		n, err := strconv.ParseInt(string(text), 10, size)
		if err != nil {
			return fmt.Errorf("%.40q is not an %s", text, t)
		}
		b.AppendInt64(n)
	case Decimal:
		n, err := ParseDecimal(string(text), t.Precision, t.Scale)
		if err != nil {
			return err
		}
		b.AppendInt128(n)
	case Float32, Float64:
		return appendFloatText(b, text, quoted)
	case String:
		b.AppendBytes(text)
	case Binary:
		raw, err := hex.DecodeString(string(text))
		if err != nil {
			return fmt.Errorf("%.40q is not hexadecimal", text)
		}
		if t.FixedSize > 0 && len(raw) != t.FixedSize {
			return fmt.Errorf("%d bytes, the type has %d", len(raw), t.FixedSize)
		}
		b.AppendBytes(raw)
	case Date:
		days, err := ParseDate(string(text))
		if err != nil {
			return err
		}
		b.AppendInt64(int64(days))
	case Time:
		us, err := parseTimeOfDay(string(text))
		if err != nil {
			return err
		}
		b.AppendInt64(us)
	case Timestamp, TimestampMilli:
		us, err := ParseTimestamp(string(text))
		if err != nil {
			return err
		}
		if t.Kind == TimestampMilli {
			if us%1000 != 0 {
				return fmt.Errorf("%.40q is finer than the type's milliseconds", text)
			}
			us /= 1000
		}
		b.AppendInt64(us)
	}
	return nil
}

func appendFloatText(b *Builder, text []byte, quoted bool) error {
	var f float64
	switch {
	case !quoted:
		size := 64
		if b.v.Type.Kind == Float32 {
			size = 32
		}
		var err error
		if f, err = strconv.ParseFloat(string(text), size); err != nil {
			return fmt.Errorf("%.40q is out of range", text)
		}
	case string(text) == "NaN":
		f = math.NaN()
	case string(text) == "Infinity":
		f = math.Inf(1)
	case string(text) == "-Infinity":
		f = math.Inf(-1)
	default:
		return fmt.Errorf("%.40q is not a number", text)
	}
	b.AppendFloat64(f)
	return nil
}
