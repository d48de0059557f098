package lint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/shoaldb/shoal"

// beside are the packages that stand outside the list because nothing in it may import them; what
// they themselves may import of the module is named here.
var beside = map[string][]string{
	"sqltest":           {},
	"sqltest/play":      {"sqltest"},
	"internal/lint":     {},
	"internal/fixtures": {},
}

// onlyForTests are import paths that the binary must not contain.
var onlyForTests = []string{
	"testing",
	"github.com/go-sql-driver/mysql",
	"github.com/google/go-cmp",
	"pgregory.net/rapid",
	"github.com/duckdb/",
	"github.com/marcboeker/go-duckdb",
	modulePath + "/sqltest",
	modulePath + "/internal/fixtures",
}

// frontEnd are the modules of R2, and lowestFrontEnd the lowest layer that may import them.
var frontEnd = []string{"github.com/dolthub/go-mysql-server", "github.com/dolthub/vitess"}

const lowestFrontEnd = "engine/sqltable"

// source is one Go file that is not a test.
type source struct {
	file    string // relative to the module root
	pkg     string // its directory, slash-separated
	imports []string
	doc     bool // has a package comment
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return root
}

// sources parses the module's Go files. Directories with a go.mod are modules of their own.
func sources(t *testing.T) []source {
	t.Helper()
	root := moduleRoot(t)
	var list []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if file == root {
				return nil
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil ||
				strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		s := source{file: filepath.ToSlash(rel), pkg: path.Dir(filepath.ToSlash(rel)), doc: f.Doc != nil}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		list = append(list, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// layers reads the list of packages, top down, from the first code block of the skeleton.
func layers(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "design", "skeleton.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(data), "```\n")
	block, _, closed := strings.Cut(block, "```")
	var list []string
	for line := range strings.Lines(block) {
		if fields := strings.Fields(line); len(fields) > 0 {
			list = append(list, fields[0])
		}
	}
	if !closed || len(list) < 2 {
		t.Fatal("docs/design/skeleton.md does not begin with a code block of packages")
	}
	return list
}

// layerOf returns the place in the list of a package, or of the nearest package above it in the
// tree; -1 if there is none.
func layerOf(list []string, pkg string) int {
	for p := pkg; p != "."; p = path.Dir(p) {
		for i, l := range list {
			if l == p {
				return i
			}
		}
	}
	return -1
}

// upward lists the imports that break R1. Since the list is a total order of layers, without
// upward imports there is no cycle of layers either.
func upward(list []string, files []source) []string {
	var broken []string
	for _, f := range files {
		from := layerOf(list, f.pkg)
		allowed, aside := beside[f.pkg]
		if from < 0 && !aside {
			broken = append(broken, f.file+": package "+f.pkg+" is not in the list of docs/design/skeleton.md")
			continue
		}
		for _, imp := range f.imports {
			to, ours := strings.CutPrefix(imp, modulePath+"/")
			if !ours {
				continue
			}
			ok := false
			if aside {
				for _, a := range allowed {
					ok = ok || a == to
				}
			} else if _, toAside := beside[to]; !toAside {
				ok = layerOf(list, to) >= from
			}
			if !ok {
				broken = append(broken, f.file+" imports "+to)
			}
		}
	}
	return broken
}

// tooLow lists the imports that break R2.
func tooLow(list []string, files []source) []string {
	lowest := layerOf(list, lowestFrontEnd)
	var broken []string
	for _, f := range files {
		if at := layerOf(list, f.pkg); at >= 0 && at <= lowest {
			continue
		}
		for _, imp := range f.imports {
			for _, module := range frontEnd {
				if imp == module || strings.HasPrefix(imp, module+"/") {
					broken = append(broken, f.file+" imports "+imp)
				}
			}
		}
	}
	return broken
}

func TestImportsGoDown(t *testing.T) {
	for _, b := range upward(layers(t), sources(t)) {
		t.Error(b)
	}
}

func TestTheSQLFrontEndStaysAboveTheEngine(t *testing.T) {
	for _, b := range tooLow(layers(t), sources(t)) {
		t.Error(b)
	}
}

func TestPackagesSayWhatTheyOwn(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.pkg] = documented[s.pkg] || s.doc
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

// The rules hold on a tree that breaks each of them.
func TestRulesFindWhatBreaksThem(t *testing.T) {
	list := []string{"cmd/x", "engine/sqltable", "engine", "layout/a", "layout/b"}
	in := func(pkg string, imports ...string) source {
		return source{file: pkg + "/f.go", pkg: pkg, imports: imports}
	}
	for _, tc := range []struct {
		name   string
		file   source
		up, lo int
	}{
		{"down", in("engine", modulePath+"/layout/b", "fmt"), 0, 0},
		{"within a layer", in("engine/part", modulePath+"/engine", modulePath+"/engine/other"), 0, 0},
		{"up", in("layout/b", modulePath+"/layout/a"), 1, 0},
		{"up from a part", in("layout/b/part", modulePath+"/engine/part"), 1, 0},
		{"a part is not the layer with the longer name", in("engine", modulePath+"/engine/sqltable"), 1, 0},
		{"unknown", in("nowhere", "fmt"), 1, 0},
		{"unknown imported", in("cmd/x", modulePath+"/nowhere"), 1, 0},
		{"beside imported", in("cmd/x", modulePath+"/sqltest"), 1, 0},
		{"beside imports", in("sqltest", modulePath+"/engine"), 1, 0},
		{"beside as allowed", in("sqltest/play", modulePath+"/sqltest"), 0, 0},
		{"front end above", in("engine/sqltable", frontEnd[0]+"/sql"), 0, 0},
		{"front end below", in("engine", frontEnd[0]+"/sql", frontEnd[1]), 0, 2},
		{"front end beside", in("sqltest", frontEnd[0]), 0, 1},
	} {
		if up := upward(list, []source{tc.file}); len(up) != tc.up {
			t.Errorf("%s: upward %q, want %d", tc.name, up, tc.up)
		}
		if lo := tooLow(list, []source{tc.file}); len(lo) != tc.lo {
			t.Errorf("%s: too low %q, want %d", tc.name, lo, tc.lo)
		}
	}
}

// TestTheBinaryHasNothingThatOnlyTestsNeed walks the whole import graph of cmd/shoal.
func TestTheBinaryHasNothingThatOnlyTestsNeed(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to ask for the import graph")
	}
	root := moduleRoot(t)
	if files, err := filepath.Glob(filepath.Join(root, "cmd", "shoal", "*.go")); err != nil || len(files) == 0 {
		t.Skipf("no cmd/shoal here: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "gms_pure_go", "-json=ImportPath,Imports", "./cmd/shoal")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	importer := map[string]string{} // one of those that import a package
	var all []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.ImportPath)
		for _, imp := range p.Imports {
			importer[imp] = p.ImportPath
		}
	}
	for _, p := range all {
		for _, bad := range onlyForTests {
			if p != bad && !strings.HasPrefix(p, strings.TrimSuffix(bad, "/")+"/") {
				continue
			}
			chain := p
			for at, seen := importer[p], map[string]bool{}; at != "" && !seen[at]; at = importer[at] {
				seen[at] = true
				chain = at + "\n\t→ " + chain
			}
			t.Errorf("cmd/shoal contains %s:\n\t%s", p, chain)
		}
	}
}

// notInAClone are texts that mean something only where the project is written, put together here
// so that this file does not hold them. What follows in the map is how to say it instead.
var notInAClone = map[string]string{
	"../sha" + "red": "say it in the project's own words in docs/",
	"/wor" + "k/":    "name no directory of a machine",
}

func TestTrackedFilesNameNothingOutside(t *testing.T) {
	root := moduleRoot(t)
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for n := 1; lines.Scan(); n++ {
			for text, instead := range notInAClone {
				if bytes.Contains(lines.Bytes(), []byte(text)) {
					t.Errorf("%s:%d: %q: %s", name, n, text, instead)
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
