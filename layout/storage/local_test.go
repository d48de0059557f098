package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Some tests run this test binary again as another process, which does what childEnv says.
const childEnv = "SHOAL_STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(strings.Fields(what))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(args []string) {
	die := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	l, err := NewLocal(args[1])
	die(err)
	switch args[0] {
	case "die-at": // die-at ROOT STEP OP: put "new" into d/x, killed at a step
		l.step = func(step string) {
			if step == args[2] {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		if args[3] == "replace" {
			die(l.Replace(bg, "d/x", []byte("new")))
		} else {
			die(l.CreateExclusive(bg, "d/x", []byte("new")))
		}
	case "create-many": // create-many ROOT: files that hold their own name, each told once it is made
		for i := 0; ; i++ {
			name := fmt.Sprintf("f%06d", i)
			die(l.CreateExclusive(bg, name, bytes.Repeat([]byte(name), 10000)))
			fmt.Println(name)
		}
	case "hold": // hold ROOT LOCK: take a lock, say so, keep it until killed
		_, err := l.Lock(bg, args[2])
		die(err)
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
	}
}

// spawn starts a child; it is killed and awaited at the latest when the test ends.
func spawn(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe()
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func TestKilledAtAnyStepAFileIsWholeOrAbsent(t *testing.T) {
	for _, op := range []string{"create", "replace"} {
		for _, c := range []struct {
			step  string
			there bool // the new content is visible after death at this step
		}{
			{"created", false}, {"written", false}, {"synced", false},
			{"named", true}, {"removed", true}, {"durable", true},
		} {
			t.Run(op+" at "+c.step, func(t *testing.T) {
				l := local(t)
				before := ""
				if op == "replace" {
					before = "old"
					ok(t, l.CreateExclusive(bg, "d/x", []byte(before)))
				}
				cmd, _ := spawn(t, "die-at", l.Root(), c.step, op)
				var exit *exec.ExitError
				if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was to be killed: %v", err)
				}
				switch {
				case c.there:
					content(t, l, "d/x", "new")
				case before != "":
					content(t, l, "d/x", before)
				default:
					names(t, l, "d")
				}
				n, err := l.Sweep(bg, "d")
				ok(t, err)
				if wantTemp := !c.there || op == "create" && c.step == "named"; n == 1 != wantTemp || n > 1 {
					t.Errorf("%d leftover files", n)
				}
				if n, err := l.Sweep(bg, "d"); n != 0 || err != nil {
					t.Errorf("second sweep: %d, %v", n, err)
				}
				if c.there {
					content(t, l, "d/x", "new") // sweeping a second name keeps the file
					is(t, l.CreateExclusive(bg, "d/x", nil), fs.ErrExist)
				}
			})
		}
	}
}

func TestKilledWriterLosesNothingItReported(t *testing.T) {
	for _, reports := range []int{1, 7, 30} {
		l := local(t)
		cmd, out := spawn(t, "create-many", l.Root())
		told := map[string]bool{}
		for len(told) < reports && out.Scan() {
			told[out.Text()] = true
		}
		ok(t, cmd.Process.Kill())
		for out.Scan() {
			told[out.Text()] = true
		}
		cmd.Wait()
		list, err := l.List(bg, "")
		ok(t, err)
		if len(list) < len(told) {
			t.Errorf("%d files reported, %d there", len(told), len(list))
		}
		for _, fi := range list {
			content(t, l, fi.Name, strings.Repeat(fi.Name, 10000))
			delete(told, fi.Name)
		}
		if len(told) != 0 {
			t.Errorf("reported and missing: %v", told)
		}
	}
}

func TestLockDiesWithItsProcess(t *testing.T) {
	l := local(t)
	cmd, out := spawn(t, "hold", l.Root(), "a/lock")
	if !out.Scan() || out.Text() != "held" {
		t.Fatalf("child says %q", out.Text())
	}
	if _, got, err := l.TryLock(bg, "a/lock"); got || err != nil {
		t.Fatalf("locked what another process holds: %v, %v", got, err)
	}
	acquired := make(chan error)
	go func() {
		unlock, err := l.Lock(bg, "a/lock")
		if err == nil {
			unlock()
		}
		acquired <- err
	}()
	ok(t, cmd.Process.Kill())
	cmd.Wait()
	ok(t, <-acquired)
}

func TestLockNeverHoldsARemovedFile(t *testing.T) {
	l := local(t)
	first, err := l.Lock(bg, "d/lock")
	ok(t, err)
	waiting := make(chan func())
	go func() {
		unlock, err := l.Lock(bg, "d/lock")
		if err != nil {
			t.Error(err)
		}
		waiting <- unlock
	}()
	ok(t, l.RemoveAll(bg, "d")) // a table is dropped
	first()
	second := <-waiting
	if _, got, err := l.TryLock(bg, "d/lock"); got || err != nil {
		t.Fatalf("two hold the lock of the present file: %v, %v", got, err)
	}
	second()
}

func TestTwoRootsShareALock(t *testing.T) {
	outer := local(t)
	ok(t, outer.MkdirAll(bg, "t/.hoodie"))
	inner, err := NewLocal(filepath.Join(outer.Root(), "t"))
	ok(t, err)
	defer inner.Close()
	unlock, err := inner.Lock(bg, ".hoodie/lock")
	ok(t, err)
	if _, got, err := outer.TryLock(bg, "t/.hoodie/lock"); got || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	unlock()
	u, got, err := outer.TryLock(bg, "t/.hoodie/lock")
	if !got || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	u()
}

func TestSweepSparesLivingWriters(t *testing.T) {
	l := local(t)
	w, err := l.Create(bg, "d/x")
	ok(t, err)
	other, err := NewLocal(l.Root())
	ok(t, err)
	defer other.Close()
	if n, err := other.Sweep(bg, "d"); n != 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	_, err = io.WriteString(w, "x")
	ok(t, err)
	ok(t, w.Commit())
	content(t, l, "d/x", "x")
	if left, _ := os.ReadDir(filepath.Join(l.Root(), "d")); len(left) != 1 {
		t.Errorf("left on disk: %v", left)
	}
	_, err = l.Sweep(bg, "none")
	is(t, err, fs.ErrNotExist)
}

func TestSymbolicLinksStayInside(t *testing.T) {
	l := local(t)
	outside := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600))
	link := func(to, name string) { ok(t, os.Symlink(to, filepath.Join(l.Root(), name))) }
	ok(t, l.CreateExclusive(bg, "in/f", []byte("f")))
	link("in", "alias")
	link("gone", "dangling")
	content(t, l, "alias/f", "f")
	list, err := l.List(bg, "")
	ok(t, err)
	if len(list) != 2 || list[0].Name != "alias" || !list[0].IsDir || list[1].Name != "in" {
		t.Fatalf("%+v", list)
	}

	link(outside, "out")
	link("../"+filepath.Base(outside), "in/up")
	for _, p := range []string{"out/secret", "out/new", "in/up/new"} {
		if _, err := l.ReadFile(bg, p); err == nil {
			t.Errorf("read %s", p)
		}
		if err := l.CreateExclusive(bg, p, nil); err == nil {
			t.Errorf("made %s", p)
		}
		if err := l.Replace(bg, p, nil); err == nil {
			t.Errorf("replaced %s", p)
		}
		if _, err := l.Lock(bg, p); err == nil {
			t.Errorf("locked %s", p)
		}
		l.Remove(bg, p)
		l.RemoveAll(bg, p)
	}
	if _, err := l.List(bg, ""); err == nil || !strings.Contains(err.Error(), "out") {
		t.Errorf("a link to the outside was listed or hidden: %v", err)
	}
	ok(t, l.RemoveAll(bg, "out")) // the link, not what it leads to
	left, err := os.ReadDir(outside)
	ok(t, err)
	if len(left) != 1 {
		t.Fatalf("outside now holds %v", left)
	}
}

func TestOpenDoesNotHangOnAPipe(t *testing.T) {
	l := local(t)
	ok(t, syscall.Mkfifo(filepath.Join(l.Root(), "pipe"), 0o600))
	_, err := l.Open(bg, "pipe")
	is(t, err, ErrNotFile)
	_, err = l.Lock(bg, "pipe")
	is(t, err, ErrNotFile)
}

func TestLocalURI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my lake")
	ok(t, os.Mkdir(dir, 0o777))
	l, err := NewLocal(dir)
	ok(t, err)
	defer l.Close()
	root := "file://" + strings.ReplaceAll(dir, " ", "%20")
	for p, want := range map[string]string{
		"":                     root,
		"p=1/f_0-1-2.parquet":  root + "/p=1/f_0-1-2.parquet",
		"a b/50%/ü":            root + "/a%20b/50%25/%C3%BC",
		"dt=2018-01-01 18:00/": root + "/dt=2018-01-01%2018:00",
		"q?#/x":                root + "/q%3F%23/x",
	} {
		if got := l.URI(p); got != want {
			t.Errorf("URI(%q) = %s, want %s", p, got, want)
		}
	}
}

func TestNewLocalNeedsADirectory(t *testing.T) {
	dir := t.TempDir()
	_, err := NewLocal(filepath.Join(dir, "no"))
	is(t, err, fs.ErrNotExist)
	ok(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	if _, err := NewLocal(filepath.Join(dir, "f")); err == nil {
		t.Error("a file became a root")
	}
}

func TestRemovedRootIsAnError(t *testing.T) {
	l := local(t)
	ok(t, os.RemoveAll(l.Root()))
	if err := l.CreateExclusive(bg, "a/b", nil); err == nil {
		t.Error("made a file in a removed root")
	}
}

func TestLockRespectsDeadline(t *testing.T) {
	l := local(t)
	spawned, out := spawn(t, "hold", l.Root(), "lock")
	if !out.Scan() {
		t.Fatal("child says nothing")
	}
	ctx, cancel := context.WithTimeout(bg, 1)
	defer cancel()
	_, err := l.Lock(ctx, "lock")
	is(t, err, context.DeadlineExceeded)
	ok(t, spawned.Process.Kill())
}
