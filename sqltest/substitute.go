package sqltest

import (
	"regexp"
	"strings"
)

// reference matches what follows a dollar sign in $$, $name, ${name} and $FILE(name).
var reference = regexp.MustCompile(`^(?:\$|FILE\(([^()\s]+)\)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// startsReference reports whether s, behind a dollar sign, would be read as a reference.
func startsReference(s string) bool { return reference.MatchString(s) }

// substitute replaces the references of s. value gets either the name of a variable or that of a
// file. Other dollar signs, as in JSON paths, stay.
func substitute(s string, value func(name, file string) (string, error)) (string, error) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		m := reference.FindStringSubmatch(s)
		switch {
		case m == nil:
			b.WriteByte('$')
			continue
		case m[0] == "$":
			b.WriteByte('$')
		default:
			v, err := value(m[2]+m[3], m[1])
			if err != nil {
				return "", err
			}
			b.WriteString(v)
		}
		s = s[len(m[0]):]
	}
}

// minRestored is the length in bytes of a value that is put back as its variable wherever it
// stands; shorter ones would be found by chance.
const minRestored = 6

// restore replaces value, as it stands escaped in a line, by the reference ref, a name or FILE(name).
func restore(line, value, ref string) string {
	value = doubleDollars(escape(value))
	if len(value) < minRestored {
		return line
	}
	var b strings.Builder
	for {
		i := strings.Index(line, value)
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:i])
		line = line[i+len(value):]
		if line != "" && identifier.MatchString("_"+line[:1]) && !strings.HasSuffix(ref, ")") {
			b.WriteString("${" + ref + "}")
		} else {
			b.WriteString("$" + ref)
		}
	}
}
