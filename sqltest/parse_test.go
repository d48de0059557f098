package sqltest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func parse(t *testing.T, name, text string) *Script {
	t.Helper()
	s, err := Parse(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Statement{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func failuresOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteFailures(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func containsText(s, part string) bool { return strings.Contains(s, part) }

func TestParse(t *testing.T) {
	s := parse(t, "a/B c.test", `# comment
connection one
file f.csv <<END
# kept

----
END
let $x = SELECT max(a),
  1 FROM t;
skip-prepared
args 1 | -2.5 | NULL | 'it\'s \| ' | ''
columns a:DECIMAL(10,2) | b | x:y:UNSIGNED INT | count(*) | c\|d
SELECT 'a; b
  # no comment ' FROM t
  ORDER
  BY 1; `+`
----
1 | 2
x	NULL	|	''

ordered
SELECT 1;
sorted
SELECT 1 ORDER BY 1;
----

SHOW TABLES;
----
affected 12
---- warnings
Note 1: a
Warning 2

CALL p();
---- warnings
----
error 1146 (42S02): no $x

SELECT 2;
----
error

disconnect one
`)
	if s.Database != "b_c" {
		t.Errorf("database %q", s.Database)
	}
	diff(t, "steps", s.Steps, []Step{
		&Connection{Line: 2, Name: "one"},
		&File{Line: 3, Name: "f.csv", Content: "# kept\n\n----\n"},
		&Let{Line: 8, Name: "x", Text: "SELECT max(a),\n  1 FROM t"},
		&Statement{Line: 13, Text: "SELECT 'a; b\n  # no comment ' FROM t\n  ORDER\n  BY 1", SkipPrepared: true,
			Args:    []any{int64(1), -2.5, nil, "it's | ", ""},
			Columns: []ColumnSpec{{"a", "DECIMAL(10,2)"}, {"b", ""}, {"x:y", "UNSIGNED INT"}, {"count(*)", ""}, {"c|d", ""}},
			Expect:  &Expectation{Lines: []string{"1 | 2", "x\tNULL\t|\t''"}}},
		&Statement{Line: 22, Text: "SELECT 1"},
		&Statement{Line: 24, Text: "SELECT 1 ORDER BY 1", Sorted: true, Expect: &Expectation{}},
		&Statement{Line: 27, Text: "SHOW TABLES", Sorted: true, Expect: &Expectation{Outcome: Affected, Affected: 12},
			Warnings: []string{"Note 1: a", "Warning 2"}},
		&Statement{Line: 34, Text: "CALL p()", Sorted: true, Warnings: []string{},
			Expect: &Expectation{Outcome: Error, Code: 1146, State: "42S02", Fragment: "no $x"}},
		&Statement{Line: 39, Text: "SELECT 2", Sorted: true, Expect: &Expectation{Outcome: Error}},
		&Disconnect{Line: 43, Name: "one"},
	})
	row, err := parseRow("x\tNULL\t|\t''")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]cell{{text: "x"}, {null: true}, {text: "|"}, {}}, row, cmp.AllowUnexported(cell{})); d != "" {
		t.Error(d)
	}
}

func TestDatabaseDirective(t *testing.T) {
	for text, want := range map[string]string{"": "x", "# c\n\ndatabase none\n": "", "database Other1\n": "Other1"} {
		if got := parse(t, "x.test", text).Database; got != want {
			t.Errorf("%q: database %q, want %q", text, got, want)
		}
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for _, tc := range []struct {
		text    string
		line    int
		problem string
	}{
		{"SELECT 1", 1, "does not end in a semicolon"},
		{"\nSELECT 1\n\nFROM t;\n", 2, "does not end in a semicolon"},
		{"SELECT 1\n----\n1\n", 1, "does not end in a semicolon"},
		{"#\n ;\n", 2, "empty statement"},
		{"SELECT 1;\n\n----\n1\n", 3, "without a statement"},
		{"SELECT 1;\n----\n1\n----\n2\n", 4, "second block"},
		{"SELECT 1;\n---- warnings\n---- warnings\n", 3, "second block"},
		{"SELECT 1;\n---- rows\n", 2, `unknown block "rows"`},
		{"SELECT 1;\n---- warnings\nNote: x\n", 3, "a warning is written"},
		{"SELECT 1;\n----\nok\n2\n", 4, "nothing can follow"},
		{"SELECT 1;\n----\n1\na\\xg0\n", 4, "hexadecimal"},
		{"SELECT 1;\n----\n1 | a\\\n", 3, "backslash"},
		{"SELECT 1;\n----\naffected 99999999999999999999\n", 3, "out of range"},
		{"SELECT $x;\n", 1, "$x is not set above"},
		{"SELECT\n ${x};\n", 2, "$x is not set above"},
		{"SELECT 1;\n----\n1\n$x\n", 4, "$x is not set above"},
		{"SELECT '$FILE(a.csv)';\n", 1, "no file a.csv"},
		{"let x = SELECT 1;\n", 1, "a variable is set"},
		{"let $TMP = SELECT 1;\n", 1, "$TMP cannot be set"},
		{"let $x = SELECT $x;\n", 1, "$x is not set above"},
		{"let $x = SELECT 1;\n----\n1\n", 2, "let has no block"},
		{"connection\n", 1, "needs a name"},
		{"disconnect a b\n", 1, "needs a name"},
		{"SELECT 1;\ndatabase x\n", 2, "before everything else"},
		{"database a-b\n", 1, "needs a name"},
		{"file a.csv\n", 1, "a file is written"},
		{"file ../a.csv <<END\nEND\n", 1, "must not have a directory"},
		{"\nfile a.csv <<END\nx\n", 2, "no line END"},
		{"sorted\nordered\nSELECT 1;\n", 2, "given twice"},
		{"sorted x\nSELECT 1;\n", 1, "takes no argument"},
		{"args\nSELECT 1;\n", 1, "needs a list"},
		{"args x\nSELECT 1;\n", 1, "is no number"},
		{"columns a | \nSELECT 1;\n", 1, "without a name"},
		{"\nsorted\n", 2, "no statement follows"},
		{"sorted\nlet $x = SELECT 1;\n", 2, "cannot stand between"},
		{"SELECT 1;\n\xff\n", 2, "not UTF-8"},
	} {
		_, err := Parse("x.test", strings.NewReader(tc.text))
		var pe *ParseError
		if !errors.As(err, &pe) || pe.Line != tc.line || pe.Name != "x.test" || !strings.Contains(pe.Problem, tc.problem) {
			t.Errorf("%q: got %v, want line %d: %s", tc.text, err, tc.line, tc.problem)
		}
	}
}

func TestRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) cell { return cell{text: string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))} }),
			rapid.Custom(func(t *rapid.T) cell { return cell{text: rapid.StringN(0, 12, -1).Draw(t, "text")} }),
			rapid.SampledFrom([]cell{{null: true}, {}, {text: "NULL"}, {text: "''"}, {text: "ok"}, {text: "affected 3"},
				{text: "error"}, {text: "error 12: x"}, {text: "----"}, {text: "---- warnings"}, {text: " "}, {text: "$x ${y} $$ $FILE(a) $. $"},
				{text: `\`}, {text: "|"}, {text: "\t"}, {text: "\r\n"}, {text: "#"}}))
		row := rapid.SliceOfN(value, 1, 4).Draw(t, "row")
		line := formatRow(row)
		script, err := Parse("x.test", strings.NewReader("SELECT 1;\n----\n"+line+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		expect := script.Steps[0].(*Statement).Expect
		if expect.Outcome != Rows || len(expect.Lines) != 1 {
			t.Fatalf("%s: read as %+v", line, expect)
		}
		expanded, err := substitute(expect.Lines[0], nil) // no reference is left to be asked for
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRow(expanded)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(row, again, cmp.AllowUnexported(cell{})); d != "" {
			t.Fatalf("%s: %s", line, d)
		}
	})
}

func TestSubstitute(t *testing.T) {
	value := func(name, file string) (string, error) {
		if file != "" {
			return "<" + file + ">", nil
		}
		if name == "bad" {
			return "", errors.New("bad")
		}
		return strings.ToUpper(name), nil
	}
	for in, want := range map[string]string{
		"":                     "",
		"$a":                   "A",
		"x$a.b$c_1$":           "xA.bC_1$",
		"${a}b":                "Ab",
		"$$a $$$a $$$$":        "$a $A $$",
		"'$.x' '$[0]' $1 ${} ": "'$.x' '$[0]' $1 ${} ",
		"$FILE(a-b.csv)$FILE":  "<a-b.csv>FILE",
	} {
		got, err := substitute(in, value)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := substitute("x $bad", value); err == nil {
		t.Error("the error of a value was lost")
	}
}

func TestDiffIsShort(t *testing.T) {
	var want, got []string
	for i := range 20 {
		want = append(want, string(rune('a'+i)))
		got = append(got, string(rune('a'+i)))
	}
	got[10] = "changed"
	diff(t, "diff", lineDiff(want, got), "  a\n  b\n  c\n  …\n  h\n  i\n  j\n- k\n+ changed\n  l\n  m\n  n\n  …\n  r\n  s\n  t")
}

func FuzzParse(f *testing.F) {
	f.Add(wrong)
	f.Add("file f <<E\nx\nE\nlet $x = SELECT '$FILE(f)';\nsorted\nargs 1\ncolumns a:INT\nSELECT '$x';\n----\nerror 1 (HY000): x\n---- warnings\nNote 1: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.test", strings.NewReader(text))
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Line < 1 || pe.Line > 1+strings.Count(text, "\n") {
				t.Fatal(err)
			}
			return
		}
		// Blocks that stay as they are leave the script as it is.
		blocks := map[*Statement][]string{}
		for _, step := range s.Steps {
			if st, ok := step.(*Statement); ok && st.block > st.blockFrom {
				columns := ""
				if st.columnsLine >= 0 {
					columns = s.lines[st.columnsLine]
				}
				blocks[st] = append([]string{columns}, s.lines[st.blockFrom:st.block]...)
			}
		}
		if got := s.rewritten(blocks); got != nil && string(got) != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
