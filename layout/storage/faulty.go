package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var (
	// ErrInjected is the error of a rule with the effect Fail.
	ErrInjected = errors.New("injected fault")
	// ErrCrashed is the error of every call of a Faulty after a rule with the effect Crash.
	ErrCrashed = errors.New("storage of a crashed process")
)

// Op names the calls a Rule can match.
type Op string

// The calls of Storage, File and Writer. A Writer's calls are matched with the path it was made for.
const (
	OpAny             Op = "*"
	OpOpen            Op = "open"
	OpReadAt          Op = "read-at"
	OpReadFile        Op = "read-file"
	OpStat            Op = "stat"
	OpList            Op = "list"
	OpCreate          Op = "create"
	OpWrite           Op = "write"
	OpCommit          Op = "commit"
	OpAbort           Op = "abort"
	OpCreateExclusive Op = "create-exclusive"
	OpReplace         Op = "replace"
	OpMkdirAll        Op = "mkdir-all"
	OpRemove          Op = "remove"
	OpRemoveAll       Op = "remove-all"
	OpLock            Op = "lock"
	OpTryLock         Op = "try-lock"
)

var ops = []Op{OpAny, OpOpen, OpReadAt, OpReadFile, OpStat, OpList, OpCreate, OpWrite, OpCommit, OpAbort,
	OpCreateExclusive, OpReplace, OpMkdirAll, OpRemove, OpRemoveAll, OpLock, OpTryLock}

// Effect is what a Rule does to the call it hits.
type Effect uint8

// The effects.
const (
	// Fail makes the call return ErrInjected, or the rule's error.
	Fail Effect = iota
	// Crash is the death of a process as the rest of the test sees it: the call and all later
	// ones return ErrCrashed without effect, and the locks that were held are released.
	Crash
	// Kill ends this process by SIGKILL.
	Kill
)

// Rule makes calls fail. Its text form (ParseRules) is
//
//	<op> <glob> [#<n>] [before|after] [fail|crash|kill]
//
// for example "create-exclusive .hoodie/*.commit #2 after crash".
type Rule struct {
	Op    Op     // OpAny or "": every call
	Path  string // glob over the whole path; * and ? stop at a slash, ** does not; "": every path
	N     int    // hits only the n-th matching call, counted from 1; 0: every one
	After bool   // hits after the call took effect, not before it
	Do    Effect
	Err   error // for Fail; nil: ErrInjected
}

// String returns the text form.
func (r Rule) String() string {
	op, glob, when, do := string(r.Op), r.Path, "before", [...]string{"fail", "crash", "kill"}[r.Do]
	if op == "" {
		op = "*"
	}
	if glob == "" {
		glob = "**"
	}
	if r.After {
		when = "after"
	}
	if r.N > 0 {
		return fmt.Sprintf("%s %s #%d %s %s", op, glob, r.N, when, do)
	}
	return fmt.Sprintf("%s %s %s %s", op, glob, when, do)
}

// ParseRules reads rules in their text form, separated by line ends or semicolons.
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 2 {
			return nil, fmt.Errorf("fault rule %q: want <op> <glob> [#<n>] [before|after] [fail|crash|kill]", line)
		}
		r := Rule{Op: Op(f[0]), Path: f[1]}
		known := false
		for _, op := range ops {
			known = known || op == r.Op
		}
		if !known {
			return nil, fmt.Errorf("fault rule %q: no operation %q; there are %q", line, f[0], ops)
		}
		for _, w := range f[2:] {
			switch n, err := strconv.Atoi(strings.TrimPrefix(w, "#")); {
			case strings.HasPrefix(w, "#") && err == nil && n > 0:
				r.N = n
			case w == "before" || w == "after":
				r.After = w == "after"
			case w == "fail":
				r.Do = Fail
			case w == "crash":
				r.Do = Crash
			case w == "kill":
				r.Do = Kill
			default:
				return nil, fmt.Errorf("fault rule %q: unknown word %q", line, w)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// matchPath is path.Match with ** for any number of path elements or parts of one.
func matchPath(glob, p string) bool {
	head, tail, deep := strings.Cut(glob, "**")
	if !deep {
		ok, _ := path.Match(glob, p)
		return ok
	}
	for i := 0; i <= len(p); i++ {
		if ok, _ := path.Match(head, p[:i]); !ok {
			continue
		}
		for j := i; j <= len(p); j++ {
			if matchPath(tail, p[j:]) {
				return true
			}
		}
	}
	return false
}

// Faulty passes calls on to another Storage and breaks those its rules match.
type Faulty struct {
	s  Storage
	mu sync.Mutex // guards what follows

	rules   []Rule
	hits    []int // matching calls so far, per rule
	calls   []Call
	crashed bool
	held    map[int]func() // unlock of each lock held
	nextID  int
}

// Call is one call that a Faulty saw.
type Call struct {
	Op   Op
	Path string
}

var _ Storage = (*Faulty)(nil)

// NewFaulty wraps s.
func NewFaulty(s Storage, rules ...Rule) *Faulty {
	return &Faulty{s: s, rules: rules, hits: make([]int, len(rules)), held: map[int]func(){}}
}

// Calls returns the calls made so far, in order. A crash test learns from a first, faultless run
// at which calls it can break the next ones.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Crashed reports whether a rule with the effect Crash was hit.
func (f *Faulty) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// around runs one call between the rules for before and after it.
func (f *Faulty) around(op Op, p string, call func() error) error {
	hit, err := f.before(op, p)
	if err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	for _, r := range hit {
		if err := f.apply(r, op, p); err != nil {
			return err
		}
	}
	return nil
}

// before counts a call, applies the rules that hit before it, and returns those that hit after it.
func (f *Faulty) before(op Op, p string) (after []Rule, err error) {
	c := path.Clean(p)
	f.mu.Lock()
	if f.crashed {
		f.mu.Unlock()
		return nil, pathError(string(op), p, ErrCrashed)
	}
	f.calls = append(f.calls, Call{Op: op, Path: c})
	var before []Rule
	for i, r := range f.rules {
		if r.Op != "" && r.Op != OpAny && r.Op != op || r.Path != "" && !matchPath(r.Path, c) {
			continue
		}
		f.hits[i]++
		switch {
		case r.N != 0 && r.N != f.hits[i]:
		case r.After:
			after = append(after, r)
		default:
			before = append(before, r)
		}
	}
	f.mu.Unlock()
	for _, r := range before {
		if err := f.apply(r, op, p); err != nil {
			return nil, err
		}
	}
	return after, nil
}

func (f *Faulty) apply(r Rule, op Op, p string) error {
	switch r.Do {
	case Kill:
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	case Crash:
		f.mu.Lock()
		f.crashed = true
		held := f.held
		f.held = map[int]func(){}
		f.mu.Unlock()
		for _, unlock := range held {
			unlock()
		}
		return pathError(string(op), p, ErrCrashed)
	}
	if r.Err != nil {
		return pathError(string(op), p, r.Err)
	}
	return pathError(string(op), p, ErrInjected)
}

// Open implements Storage.
func (f *Faulty) Open(ctx context.Context, p string) (out File, err error) {
	err = f.around(OpOpen, p, func() (err error) { out, err = f.s.Open(ctx, p); return })
	if err != nil {
		if out != nil {
			out.Close()
		}
		return nil, err
	}
	return &faultyFile{File: out, f: f, path: p}, nil
}

type faultyFile struct {
	File
	f    *Faulty
	path string
}

func (x *faultyFile) ReadAt(b []byte, off int64) (n int, err error) {
	after, err := x.f.before(OpReadAt, x.path)
	if err != nil {
		return 0, err
	}
	n, err = x.File.ReadAt(b, off) // io.EOF may come with bytes
	for _, r := range after {
		if err := x.f.apply(r, OpReadAt, x.path); err != nil {
			return 0, err
		}
	}
	return n, err
}

// ReadFile implements Storage.
func (f *Faulty) ReadFile(ctx context.Context, p string) (out []byte, err error) {
	err = f.around(OpReadFile, p, func() (err error) { out, err = f.s.ReadFile(ctx, p); return })
	return out, err
}

// Stat implements Storage.
func (f *Faulty) Stat(ctx context.Context, p string) (out FileInfo, err error) {
	err = f.around(OpStat, p, func() (err error) { out, err = f.s.Stat(ctx, p); return })
	return out, err
}

// List implements Storage.
func (f *Faulty) List(ctx context.Context, dir string) (out []FileInfo, err error) {
	err = f.around(OpList, dir, func() (err error) { out, err = f.s.List(ctx, dir); return })
	return out, err
}

// Create implements Storage.
func (f *Faulty) Create(ctx context.Context, p string) (out Writer, err error) {
	err = f.around(OpCreate, p, func() (err error) { out, err = f.s.Create(ctx, p); return })
	if err != nil {
		return nil, err // a writer made before an after-rule hit stays behind, as after a crash
	}
	return &faultyWriter{w: out, f: f, path: p}, nil
}

type faultyWriter struct {
	w    Writer
	f    *Faulty
	path string
}

func (x *faultyWriter) Write(b []byte) (n int, err error) {
	err = x.f.around(OpWrite, x.path, func() (err error) { n, err = x.w.Write(b); return })
	return n, err
}

func (x *faultyWriter) Commit() error { return x.f.around(OpCommit, x.path, x.w.Commit) }
func (x *faultyWriter) Abort() error  { return x.f.around(OpAbort, x.path, x.w.Abort) }

// CreateExclusive implements Storage.
func (f *Faulty) CreateExclusive(ctx context.Context, p string, data []byte) error {
	return f.around(OpCreateExclusive, p, func() error { return f.s.CreateExclusive(ctx, p, data) })
}

// Replace implements Storage.
func (f *Faulty) Replace(ctx context.Context, p string, data []byte) error {
	return f.around(OpReplace, p, func() error { return f.s.Replace(ctx, p, data) })
}

// MkdirAll implements Storage.
func (f *Faulty) MkdirAll(ctx context.Context, dir string) error {
	return f.around(OpMkdirAll, dir, func() error { return f.s.MkdirAll(ctx, dir) })
}

// Remove implements Storage.
func (f *Faulty) Remove(ctx context.Context, p string) error {
	return f.around(OpRemove, p, func() error { return f.s.Remove(ctx, p) })
}

// RemoveAll implements Storage.
func (f *Faulty) RemoveAll(ctx context.Context, p string) error {
	return f.around(OpRemoveAll, p, func() error { return f.s.RemoveAll(ctx, p) })
}

// Lock implements Storage.
func (f *Faulty) Lock(ctx context.Context, p string) (unlock func(), err error) {
	err = f.around(OpLock, p, func() error {
		u, err := f.s.Lock(ctx, p)
		if err == nil {
			unlock = f.hold(u)
		}
		return err
	})
	return f.locked(unlock, err)
}

// TryLock implements Storage.
func (f *Faulty) TryLock(ctx context.Context, p string) (unlock func(), ok bool, err error) {
	err = f.around(OpTryLock, p, func() error {
		u, got, err := f.s.TryLock(ctx, p)
		if got {
			unlock, ok = f.hold(u), true
		}
		return err
	})
	unlock, err = f.locked(unlock, err)
	return unlock, ok && err == nil, err
}

// locked gives back a lock that the caller will not hear of.
func (f *Faulty) locked(unlock func(), err error) (func(), error) {
	if err != nil && unlock != nil {
		unlock()
		unlock = nil
	}
	return unlock, err
}

func (f *Faulty) hold(unlock func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed { // while waiting for the lock
		unlock()
		return func() {}
	}
	id := f.nextID
	f.nextID++
	f.held[id] = unlock
	return func() {
		f.mu.Lock()
		unlock, ok := f.held[id]
		delete(f.held, id)
		f.mu.Unlock()
		if ok {
			unlock()
		}
	}
}

// URI implements Storage.
func (f *Faulty) URI(p string) string { return f.s.URI(p) }
