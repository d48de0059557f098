package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestParseRules(t *testing.T) {
	rules, err := ParseRules("create-exclusive .hoodie/*.commit #2 after crash; * **\n\nread-file a fail #1 before;commit **.parquet kill")
	ok(t, err)
	want := []Rule{
		{Op: OpCreateExclusive, Path: ".hoodie/*.commit", N: 2, After: true, Do: Crash},
		{Op: OpAny, Path: "**"},
		{Op: OpReadFile, Path: "a", N: 1},
		{Op: OpCommit, Path: "**.parquet", Do: Kill},
	}
	if fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", rules, want)
	}
	for _, r := range want {
		if again, err := ParseRules(r.String()); err != nil || len(again) != 1 || again[0] != r {
			t.Errorf("%s reads back as %v, %v", r, again, err)
		}
	}
	for _, bad := range []string{"open", "fly **", "open ** sometimes", "open ** #0", "open ** #x", "open ** #-1"} {
		if _, err := ParseRules(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{".hoodie/*.commit", ".hoodie/1.commit", true},
		{".hoodie/*.commit", ".hoodie/1.commit.requested", false},
		{"*", "a", true},
		{"*", "a/b", false},
		{"**", "a/b", true},
		{"**", ".", true},
		{"**.parquet", "p=1/q=2/f.parquet", true},
		{"p=1/**", "p=1/q=2/f.parquet", true},
		{"p=2/**", "p=1/q=2/f.parquet", false},
		{"**/f?.parquet", "p=1/q=2/f1.parquet", true},
		{"a/**/b", "a/x/b", true},
		{"[", "[", false},
	} {
		if got := matchPath(c.glob, c.path); got != c.want {
			t.Errorf("matchPath(%q, %q) = %v", c.glob, c.path, got)
		}
	}
}

func TestFailBeforeAndAfterEffect(t *testing.T) {
	inner := NewMem()
	own := errors.New("disk on fire")
	f := NewFaulty(inner,
		Rule{Op: OpCreateExclusive, Path: "before"},
		Rule{Op: OpCreateExclusive, Path: "after", After: true, Err: own},
		Rule{Op: OpReadFile, N: 2})
	err := f.CreateExclusive(bg, "before", nil)
	is(t, err, ErrInjected)
	namesPath(t, err, "before")
	is(t, f.CreateExclusive(bg, "after", []byte("x")), own)
	names(t, inner, "", "after")
	is(t, f.CreateExclusive(bg, "after", nil), fs.ErrExist)
	for i, want := range []error{nil, ErrInjected, nil} {
		if _, err := f.ReadFile(bg, "after"); !errors.Is(err, want) {
			t.Errorf("read %d: %v, want %v", i+1, err, want)
		}
	}
	calls := f.Calls()
	if len(calls) != 6 || calls[0] != (Call{OpCreateExclusive, "before"}) || calls[5] != (Call{OpReadFile, "after"}) {
		t.Errorf("calls: %v", calls)
	}
}

func TestFaultyReachesFilesAndWriters(t *testing.T) {
	inner := NewMem()
	ok(t, inner.CreateExclusive(bg, "x", []byte("abc")))
	f := NewFaulty(inner, Rule{Op: OpReadAt, N: 2}, Rule{Op: OpWrite, N: 2}, Rule{Op: OpCommit, Path: "y"})
	r, err := f.Open(bg, "x")
	ok(t, err)
	b := make([]byte, 3)
	_, err = r.ReadAt(b, 0)
	ok(t, err)
	_, err = r.ReadAt(b, 0)
	is(t, err, ErrInjected)
	w, err := f.Create(bg, "y")
	ok(t, err)
	_, err = w.Write(b)
	ok(t, err)
	_, err = w.Write(b)
	is(t, err, ErrInjected)
	is(t, w.Commit(), ErrInjected)
	ok(t, w.Abort())
	names(t, inner, "", "x")
}

func TestCrashStopsEverythingAndFreesLocks(t *testing.T) {
	inner := NewMem()
	f := NewFaulty(inner, Rule{Op: OpCommit, After: true, Do: Crash})
	unlock, err := f.Lock(bg, "lock")
	ok(t, err)
	w, err := f.Create(bg, "x")
	ok(t, err)
	if f.Crashed() {
		t.Fatal("crashed early")
	}
	is(t, w.Commit(), ErrCrashed)
	if !f.Crashed() {
		t.Fatal("not crashed")
	}
	content(t, inner, "x", "") // the commit had taken effect
	is(t, f.Remove(bg, "x"), ErrCrashed)
	_, err = f.List(bg, "")
	is(t, err, ErrCrashed)
	next, got, err := inner.TryLock(bg, "lock")
	if !got || err != nil {
		t.Fatalf("the dead hold their locks: %v, %v", got, err)
	}
	unlock() // deferred in the crashed code
	if _, got, _ := inner.TryLock(bg, "lock"); got {
		t.Error("the dead freed another's lock")
	}
	next()
}

func TestLockHitAfterEffectIsGivenBack(t *testing.T) {
	inner := NewMem()
	f := NewFaulty(inner, Rule{Op: OpLock, After: true}, Rule{Op: OpTryLock, After: true})
	_, err := f.Lock(bg, "l")
	is(t, err, ErrInjected)
	_, got, err := f.TryLock(bg, "l")
	is(t, err, ErrInjected)
	if got {
		t.Error("locked in spite of an error")
	}
	u, got, err := inner.TryLock(bg, "l")
	if !got || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	u()
}
