package timeline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"pgregory.net/rapid"
)

// The cases follow the description of java.util.Properties.load.
func TestParseProperties(t *testing.T) {
	for _, c := range []struct{ claim, text, want string }{
		{"separators", "a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\ng =: 7", `a="1" b="2" c="3" d="4" e="5" f="6" g=": 7"`},
		{"only the first separator counts", "a=b=c\nd==e", `a="b=c" d="=e"`},
		{"values keep blanks at the end and lose those before", "a=  1 2 \t", `a="1 2 \t"`},
		{"leading blanks of a line", " \t\fa=1", `a="1"`},
		{"comments", "#a=1\n  !b=2\nc=#3!", `c="#3!"`},
		{"blank lines", "\n\n \t\na=1\n\n", `a="1"`},
		{"line ends", "a=1\rb=2\r\nc=3\n\rd=4", `a="1" b="2" c="3" d="4"`},
		{"keys without value", "a\nb=\nc:", `a="" b="" c=""`},
		{"an empty key", "=x", `="x"`},
		{"continued lines", "a=1,\\\n   2,\\\r\n\t3\nb=4", `a="1,2,3" b="4"`},
		{"an even number of backslashes ends the line", `a=1\\` + "\nb=2", `a="1\\" b="2"`},
		{"an odd number continues it", `a=1\\\` + "\nb=2", `a="1\\b=2"`},
		{"a continued line is no comment", "a=1\\\n#2", `a="1#2"`},
		{"nor does a comment continue", "#a\\\nb=1", `b="1"`},
		{"a blank line ends a continued one", "a=1\\\n\nb=2", `a="1" b="2"`},
		{"a continued key", "a\\\n  b=1", `ab="1"`},
		{"a backslash before the end of the text", "a=1\\", `a="1"`},
		{"nothing but a continuation", "\\\n\na=1", `a="1"`},
		{"escapes", `a=\t\n\r\f\\\:\=\#\!\ \q\"`, `a="\t\n\r\f\\:=#! q\""`},
		{"escaped separators in keys", `a\=b\:c\ d=1`, `a=b:c d="1"`},
		{"unicode escapes", `a=\u0041\u00e9\u4E2D`, `a="Aé中"`},
		{"surrogate pairs", `a=\uD83D\uDE00`, `a="😀"`},
		{"half pairs", `a=\uD83Dx\uDE00\uD83D`, `a="` + "�x��" + `"`},
		{"a half pair before a whole one", `a=\uD83D\uD83D\uDE00`, `a="` + "�😀" + `"`},
		{"ISO-8859-1", "a=\xe9", `a="é"`},
		{"the last of repeated keys counts", "a=1\nb=2\na=3", `a="3" b="2"`},
		{"no expansion", "a=${b}\nb=${a}", `a="${b}" b="${a}"`},
		{"JSON as Hudi stores it", `s={"type"\:"record","fields"\:[{"n"\:"a"}]}`, `s="{\"type\":\"record\",\"fields\":[{\"n\":\"a\"}]}"`},
		{"empty text", "", ""},
	} {
		p, err := ParseProperties([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		if got := dump(p); got != c.want {
			t.Errorf("%s: %s, want %s", c.claim, got, c.want)
		}
	}
	for _, bad := range []string{`a=\u12`, `a=\u12x4`, `\u=1`, "x=1\ny=2\nz=\\uqqqq"} {
		if _, err := ParseProperties([]byte(bad)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func dump(p *Properties) string {
	var parts []string
	for _, k := range p.Keys() {
		v, _ := p.Get(k)
		parts = append(parts, fmt.Sprintf("%s=%q", k, v))
	}
	return strings.Join(parts, " ")
}

// The expected text is what java.util.Properties.store writes for these.
func TestPropertiesBytes(t *testing.T) {
	p := NewProperties(
		"plain", "value",
		"empty", "",
		"json", `{"type":"record","a":[1,"x=y"]}`,
		"blanks", "  two leading",
		"key with : and =", "a\tb\nc\rd\fe\\f#g!h",
		"#comment", "é中😀\x01\x7f",
	)
	want := `plain=value
empty=
json={"type"\:"record","a"\:[1,"x\=y"]}
blanks=\  two leading
key\ with\ \:\ and\ \==a\tb\nc\rd\fe\\f\#g\!h
\#comment=\u00E9\u4E2D\uD83D\uDE00\u0001\u007F
`
	if got := string(p.Bytes()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPropertiesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \t\f\\=:#!\r\na\x{ff}\x{1F600}]*`))
		p := &Properties{}
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			p.Set(s.Draw(t, "key"), s.Draw(t, "value"))
		}
		b := p.Bytes()
		got, err := ParseProperties(b)
		if err != nil {
			t.Fatal(err)
		}
		if dump(got) != dump(p) {
			t.Fatalf("got %s, want %s, text %q", dump(got), dump(p), b)
		}
	})
}

func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("a=1\\\n 2\n#c\nb\\:\\u0041:x"))
	f.Add([]byte("\\u\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProperties(text)
		if err != nil {
			return
		}
		again, err := ParseProperties(p.Bytes())
		if err != nil || dump(again) != dump(p) {
			t.Errorf("%q reads as %s, then as %v, %v", text, dump(p), again, err)
		}
		// What is written once is written the same again.
		if !bytes.Equal(again.Bytes(), p.Bytes()) {
			t.Errorf("%q is written as %q, then as %q", text, p.Bytes(), again.Bytes())
		}
	})
}

func TestPropertiesKeepOrder(t *testing.T) {
	p := NewProperties("b", "1", "a", "2", "c", "3")
	q := p.Clone()
	p.Set("a", "4")
	p.Delete("b")
	p.Delete("none")
	p.Set("b", "5")
	if got := dump(p); got != `a="4" c="3" b="5"` {
		t.Error(got)
	}
	if got := dump(q); got != `b="1" a="2" c="3"` {
		t.Errorf("the clone changed: %s", got)
	}
	m := p.Map()
	m["a"] = "x"
	if v, ok := p.Get("a"); v != "4" || !ok || p.Len() != 3 {
		t.Errorf("%q, %v, %d", v, ok, p.Len())
	}
	var zero Properties
	if _, ok := zero.Get("x"); ok || zero.Len() != 0 || len(zero.Bytes()) != 0 || len(zero.Map()) != 0 {
		t.Error("the zero value is not empty")
	}
}

// Hudi wrote these files by java.util.Properties, so writing what was read gives the same lines.
func TestRealPropertiesAreWrittenAsRead(t *testing.T) {
	for _, name := range fixtures.Tables(t) {
		text := fixtures.Files(t, name, Dir)[propertiesName]
		p, err := ParseProperties(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []string
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if !strings.HasPrefix(line, "#") {
				want = append(want, line)
			}
		}
		if got := string(p.Bytes()); got != strings.Join(want, "") {
			t.Errorf("%s: got\n%swant\n%s", name, got, strings.Join(want, ""))
		}
	}
}
