package sqlproc

import "strings"

type tokenKind uint8

const (
	tokWord   tokenKind = iota // letters, digits, _, $: a keyword, a name, a number
	tokQuoted                  // a `name`
	tokString                  // 'text' or "text"
	tokPunct                   // one byte, or => := @@ <=>
)

// token is one token of a text, by its place.
type token struct {
	kind     tokenKind
	from, to int
}

// lexer finds tokens. It is coarser than the grammar's: it only has to know what is code.
type lexer struct {
	text string
	pos  int
	open bool // inside /*! … */, whose text is code
}

// lex returns the tokens of a text; false when a string, name or comment does not end.
func lex(text string) ([]token, bool) {
	l := lexer{text: text}
	var out []token
	for {
		t, ok := l.next()
		if !ok {
			return nil, false
		}
		if t.to == t.from {
			return out, true
		}
		out = append(out, t)
	}
}

// next returns the next token, an empty one at the end.
func (l *lexer) next() (token, bool) {
	if !l.skip() {
		return token{}, false
	}
	from := l.pos
	if from == len(l.text) {
		return token{from: from, to: from}, true
	}
	kind := tokPunct
	switch c := l.text[from]; {
	case isWord(c):
		kind = tokWord
		for l.pos < len(l.text) && isWord(l.text[l.pos]) {
			l.pos++
		}
	case c == '`' || c == '\'' || c == '"':
		kind = tokString
		if c == '`' {
			kind = tokQuoted
		}
		if !l.quoted(c) {
			return token{}, false
		}
	default:
		l.pos++
		for _, p := range []string{"<=>", "=>", ":=", "@@"} {
			if strings.HasPrefix(l.text[from:], p) {
				l.pos = from + len(p)
				break
			}
		}
	}
	return token{kind: kind, from: from, to: l.pos}, true
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// skip passes over blanks and comments; false when a comment does not end.
func (l *lexer) skip() bool {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case isSpace(rest[0]):
			l.pos++
		case rest[0] == '#' || strings.HasPrefix(rest, "--") && (len(rest) == 2 || isSpace(rest[2])):
			i := strings.IndexByte(rest, '\n')
			if i < 0 {
				i = len(rest) - 1
			}
			l.pos += i + 1
		case strings.HasPrefix(rest, "/*!"):
			l.open = true
			l.pos += 3
			for l.pos < len(l.text) && l.text[l.pos] >= '0' && l.text[l.pos] <= '9' {
				l.pos++
			}
		case l.open && strings.HasPrefix(rest, "*/"):
			l.open = false
			l.pos += 2
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest[2:], "*/")
			if i < 0 {
				return false
			}
			l.pos += i + 4
		default:
			return true
		}
	}
	return true
}

// quoted passes over a quoted token; false when it does not end.
func (l *lexer) quoted(quote byte) bool {
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; {
		case c == '\\' && quote != '`':
			l.pos++
		case c != quote:
		case l.pos+1 < len(l.text) && l.text[l.pos+1] == quote:
			l.pos++
		default:
			l.pos++
			return true
		}
	}
	return false
}

// unquote is the value of a string or the name of a quoted name.
func unquote(s string) string {
	if len(s) < 2 {
		return s
	}
	quote, s := s[0], s[1:len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '`' && i+1 < len(s):
			i++
			if j := strings.IndexByte("0nrtbZ", s[i]); j >= 0 {
				b.WriteByte("\x00\n\r\t\b\x1a"[j])
			} else {
				b.WriteByte(s[i])
			}
		case c == quote && i+1 < len(s) && s[i+1] == quote:
			i++
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quoteString writes a string literal.
func quoteString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`).Replace(s) + "'"
}

// quoteName writes a quoted name.
func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
