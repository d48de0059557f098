package sqlproc

import "strings"

// Marks of what Rewrite leaves for Parser to find. They begin with a byte that no client types.
const (
	namedMark   = "\x01named\x01" // before the name of a named argument
	carrierMark = "\x01shoal\x01" // before the clauses of a Spark CREATE TABLE
)

// Rewrite turns what MySQL's grammar does not know into what it does:
//
//	CALL p(name => value)                 the name becomes a marked string before its value
//	CALL system.p(…)                      loses the qualifier
//	CREATE TABLE … USING hudi …           Spark's clauses and types become MySQL's
//	SET hoodie.a.b = v, @@hoodie.a.b      become the quoted system variable
//
// Everything else comes back as it is (I1). A server applies it to the text of COM_STMT_PREPARE,
// which is parsed before a Parser sees it; Parser applies it itself.
func Rewrite(query string) string {
	s, _ := rewrite(query)
	return s
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string
}

// rewriter collects the edits of a text, in ascending order within a statement's handler.
type rewriter struct {
	text  string
	edits []edit
}

func rewrite(query string) (string, []edit) {
	if !worthwhile(query) {
		return query, nil
	}
	tokens, ok := lex(query)
	if !ok {
		return query, nil
	}
	r := &rewriter{text: query}
	for len(tokens) > 0 {
		end := 0
		for end < len(tokens) && !r.is(tokens[end], ";") {
			end++
		}
		r.statement(tokens[:end])
		if end == len(tokens) {
			break
		}
		tokens = tokens[end+1:]
	}
	return apply(query, r.edits), r.edits
}

// worthwhile is whether a text can have anything to rewrite; most texts, which may be long, do not.
func worthwhile(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		switch s[i] {
		case '=':
			if s[i+1] == '>' {
				return true
			}
		case 'h', 'H':
			if hasFold(s[i:], "hudi") || hasFold(s[i:], "hoodie") {
				return true
			}
		case 's', 'S':
			if hasFold(s[i:], "shoal.") || hasFold(s[i:], "system") {
				return true
			}
		}
	}
	return false
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func apply(text string, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// original is the place in the text before edits of a place in the text after them.
func original(edits []edit, pos int) int {
	shift := 0
	for _, e := range edits {
		start := e.from + shift
		if pos < start+len(e.text) {
			if pos < start {
				break
			}
			return e.to
		}
		shift += len(e.text) - (e.to - e.from)
	}
	return pos - shift
}

func (r *rewriter) at(t token) string { return r.text[t.from:t.to] }

// is reports whether a token is a word or sign, words without regard to case.
func (r *rewriter) is(t token, s string) bool {
	return (t.kind == tokWord || t.kind == tokPunct) && strings.EqualFold(r.at(t), s)
}

// isAt is is for the i-th of tokens, false past the end.
func (r *rewriter) isAt(tokens []token, i int, s string) bool {
	return i < len(tokens) && r.is(tokens[i], s)
}

// name is the name that a token is.
func (r *rewriter) name(t token) (string, bool) {
	switch t.kind {
	case tokWord:
		return r.at(t), true
	case tokQuoted:
		return unquote(r.at(t)), true
	}
	return "", false
}

func (r *rewriter) replace(from, to int, text string) {
	r.edits = append(r.edits, edit{from, to, text})
}

func (r *rewriter) statement(tokens []token) {
	switch {
	case len(tokens) == 0:
	case r.is(tokens[0], "CALL"):
		r.call(tokens)
	case r.is(tokens[0], "CREATE") && r.create(tokens):
	case r.is(tokens[0], "SET"):
		r.set(tokens)
	default:
		r.variables(tokens)
	}
}

// call marks the named arguments of a CALL. One with => elsewhere is left for the grammar to refuse.
func (r *rewriter) call(tokens []token) {
	begin, depth, named := len(r.edits), 0, -1
	if r.isAt(tokens, 1, "system") && r.isAt(tokens, 2, ".") {
		// Spark's catalog of procedures; a word of the grammar, not a database.
		r.replace(tokens[1].from, tokens[2].to, "")
	}
	for i, t := range tokens {
		switch {
		case r.is(t, "("):
			depth++
		case r.is(t, ")"):
			depth--
		case r.is(t, "=>") && depth == 1 && named != i-1:
			r.edits = r.edits[:begin]
			return
		case depth == 1 && r.isAt(tokens, i+1, "=>") && (r.is(tokens[i-1], "(") || r.is(tokens[i-1], ",")):
			if name, ok := r.name(t); ok {
				r.replace(t.from, tokens[i+1].to, quoteString(namedMark+name)+",")
				named = i
			}
		case r.is(t, "@@"):
			r.variable(tokens[i:])
		}
	}
}

// isOption reports whether a name is one of the dotted configuration keys.
func isOption(name string) bool { return hasFold(name, "hoodie.") || hasFold(name, "shoal.") }

// dotted reads a configuration key at the beginning of tokens, written bare or quoted, and returns
// how many tokens it has; 0 when there is none.
func (r *rewriter) dotted(tokens []token) (key string, n int) {
	if len(tokens) == 0 {
		return "", 0
	}
	if tokens[0].kind == tokQuoted {
		if key = unquote(r.at(tokens[0])); isOption(key) {
			return key, 1
		}
		return "", 0
	}
	if tokens[0].kind != tokWord {
		return "", 0
	}
	n = 1
	for n+1 < len(tokens) && r.is(tokens[n], ".") && tokens[n+1].kind == tokWord &&
		tokens[n].from == tokens[n-1].to && tokens[n+1].from == tokens[n].to {
		n += 2
	}
	if key = r.text[tokens[0].from:tokens[n-1].to]; !isOption(key) {
		return "", 0
	}
	return key, n
}

// variables quotes the option variables that a statement reads.
func (r *rewriter) variables(tokens []token) {
	for i, t := range tokens {
		if r.is(t, "@@") {
			r.variable(tokens[i:])
		}
	}
}

// variable quotes the variable at the beginning of tokens, which is @@, if it is an option, and
// returns how many tokens it has.
func (r *rewriter) variable(tokens []token) int {
	scope, i := "session", 1
	if i+1 < len(tokens) && tokens[i].kind == tokWord && r.is(tokens[i+1], ".") && isScope(r.at(tokens[i])) {
		scope, i = r.at(tokens[i]), i+2
	}
	key, n := r.dotted(tokens[i:])
	if n == 0 {
		return 0
	}
	from, to := tokens[0].from, tokens[i+n-1].to
	if text := variableText(scope, key); text != r.text[from:to] {
		r.replace(from, to, text)
	}
	return i + n
}

func variableText(scope, key string) string { return "@@" + scope + "." + quoteName(key) }

func isScope(s string) bool {
	switch strings.ToLower(s) {
	case "session", "local", "global", "persist", "persist_only":
		return true
	}
	return false
}

// set quotes the options that a SET assigns, and values without quotes, as configuration files
// have them.
func (r *rewriter) set(tokens []token) {
	for i := 1; i < len(tokens); {
		n := r.target(tokens[i:])
		ours := n > 0
		i += n
		if ours && (r.isAt(tokens, i, "=") || r.isAt(tokens, i, ":=")) {
			i += 1 + r.bareValue(tokens[i+1:])
		}
		for depth := 0; i < len(tokens) && (depth > 0 || !r.is(tokens[i], ",")); i++ {
			switch {
			case r.is(tokens[i], "("):
				depth++
			case r.is(tokens[i], ")"):
				depth--
			case r.is(tokens[i], "@@"):
				r.variable(tokens[i:])
			}
		}
		i++
	}
}

// target quotes the option at the beginning of an assignment and returns its length in tokens.
func (r *rewriter) target(tokens []token) int {
	if len(tokens) > 0 && r.is(tokens[0], "@@") {
		return r.variable(tokens)
	}
	scope, i := "session", 0
	if len(tokens) > 1 && tokens[0].kind == tokWord && isScope(r.at(tokens[0])) {
		scope, i = strings.ToLower(r.at(tokens[0])), 1
	}
	key, n := r.dotted(tokens[i:])
	if n == 0 {
		return 0
	}
	r.replace(tokens[0].from, tokens[i+n-1].to, variableText(scope, key))
	return i + n
}

// bareValue quotes a value that is written without quotes. A comma belongs to it unless an
// assignment follows, so that lists of columns need no quotes either.
func (r *rewriter) bareValue(tokens []token) int {
	n := 0
	for n < len(tokens) {
		t := tokens[n]
		if r.is(t, ",") && r.assignmentFollows(tokens[n+1:]) {
			break
		}
		if t.kind != tokWord && !(t.kind == tokPunct && strings.Contains(".,-+/:*", r.at(t))) {
			return 0
		}
		n++
	}
	if n == 0 || n == 1 && (r.is(tokens[0], "NULL") || r.is(tokens[0], "DEFAULT")) {
		return n
	}
	from, to := tokens[0].from, tokens[n-1].to
	text := r.text[from:to]
	if strings.Contains(text, "/*") || strings.ContainsAny(text, "#\n") {
		return 0
	}
	r.replace(from, to, quoteString(text))
	return n
}

func (r *rewriter) assignmentFollows(tokens []token) bool {
	for i, t := range tokens {
		if r.is(t, "=") || r.is(t, ":=") {
			return i > 0
		}
		if t.kind == tokString || t.kind == tokPunct && !strings.Contains("@@.", r.at(t)) {
			return false
		}
	}
	return false
}
