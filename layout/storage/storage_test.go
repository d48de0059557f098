package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
)

// TestBehaviour holds every implementation to the contract of Storage.
func TestBehaviour(t *testing.T) {
	for name, open := range map[string]func(*testing.T) Storage{
		"local":  func(t *testing.T) Storage { return local(t) },
		"mem":    func(*testing.T) Storage { return NewMem() },
		"faulty": func(*testing.T) Storage { return NewFaulty(NewMem()) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range behaviours {
				t.Run(c.claim, func(t *testing.T) { c.check(t, open(t)) })
			}
		})
	}
}

func local(t *testing.T) *Local {
	t.Helper()
	l, err := NewLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var bg = context.Background()

var behaviours = []struct {
	claim string
	check func(*testing.T, Storage)
}{
	{"a created file appears at Commit and whole", func(t *testing.T, s Storage) {
		w, err := s.Create(bg, "p=1/a.parquet")
		ok(t, err)
		_, err = io.WriteString(w, "first ")
		ok(t, err)
		_, err = io.WriteString(w, "second")
		ok(t, err)
		names(t, s, "p=1")
		_, err = s.Open(bg, "p=1/a.parquet")
		is(t, err, fs.ErrNotExist)
		ok(t, w.Commit())
		ok(t, w.Abort())
		content(t, s, "p=1/a.parquet", "first second")
		names(t, s, "p=1", "a.parquet")
		is(t, w.Commit(), ErrDone)
		_, err = w.Write([]byte("x"))
		is(t, err, ErrDone)
	}},
	{"an aborted file leaves nothing", func(t *testing.T, s Storage) {
		w, err := s.Create(bg, "p=1/a.parquet")
		ok(t, err)
		_, err = io.WriteString(w, "x")
		ok(t, err)
		ok(t, w.Abort())
		ok(t, w.Abort())
		is(t, w.Commit(), ErrDone)
		names(t, s, "p=1")
	}},
	{"Commit does not replace a file made meanwhile", func(t *testing.T, s Storage) {
		w, err := s.Create(bg, "a")
		ok(t, err)
		_, err = io.WriteString(w, "mine")
		ok(t, err)
		ok(t, s.CreateExclusive(bg, "a", []byte("theirs")))
		is(t, w.Commit(), fs.ErrExist)
		content(t, s, "a", "theirs")
		names(t, s, "", "a")
	}},
	{"CreateExclusive succeeds once", func(t *testing.T, s Storage) {
		ok(t, s.CreateExclusive(bg, "d/e/x", []byte("1")))
		err := s.CreateExclusive(bg, "d/e/x", []byte("2"))
		is(t, err, fs.ErrExist)
		namesPath(t, err, "d/e/x")
		content(t, s, "d/e/x", "1")
		names(t, s, "d/e", "x")
	}},
	{"of many racing CreateExclusive one wins", func(t *testing.T, s Storage) {
		var wins atomic.Int32
		var winner atomic.Value
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				text := fmt.Sprint("writer ", i)
				switch err := s.CreateExclusive(bg, ".hoodie/1.commit", []byte(text)); {
				case err == nil:
					wins.Add(1)
					winner.Store(text)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d winners", wins.Load())
		}
		content(t, s, ".hoodie/1.commit", winner.Load().(string))
	}},
	{"empty files exist", func(t *testing.T, s Storage) {
		ok(t, s.CreateExclusive(bg, "x", nil))
		content(t, s, "x", "")
		fi, err := s.Stat(bg, "x")
		ok(t, err)
		if fi.Name != "x" || fi.Size != 0 || fi.IsDir {
			t.Fatalf("%+v", fi)
		}
	}},
	{"Replace makes and replaces", func(t *testing.T, s Storage) {
		ok(t, s.Replace(bg, "d/x", []byte("1")))
		f, err := s.Open(bg, "d/x")
		ok(t, err)
		defer f.Close()
		ok(t, s.Replace(bg, "d/x", []byte("22")))
		content(t, s, "d/x", "22")
		names(t, s, "d", "x")
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF || string(b) != "1" {
			t.Fatalf("the file opened before: %q, %v", b, err)
		}
		ok(t, s.MkdirAll(bg, "dir"))
		if err := s.Replace(bg, "dir", nil); err == nil {
			t.Fatal("a directory was replaced by a file")
		}
	}},
	{"data passed in is not kept", func(t *testing.T, s Storage) {
		b := []byte("one")
		ok(t, s.CreateExclusive(bg, "x", b))
		copy(b, "two")
		got, err := s.ReadFile(bg, "x")
		ok(t, err)
		copy(got, "six")
		content(t, s, "x", "one")
	}},
	{"a file reads at any offset, concurrently", func(t *testing.T, s Storage) {
		data := bytes.Repeat([]byte("0123456789"), 1000)
		ok(t, s.CreateExclusive(bg, "x", data))
		f, err := s.Open(bg, "x")
		ok(t, err)
		defer f.Close()
		if f.Size() != 10000 {
			t.Fatal(f.Size())
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				b := make([]byte, 100)
				if _, err := f.ReadAt(b, int64(990*i+i)); err != nil || b[0] != byte('0'+i) {
					t.Errorf("at %d: %q %v", i, b[0], err)
				}
			})
		}
		wg.Wait()
		n, err := f.ReadAt(make([]byte, 10), 9995)
		if n != 5 || err != io.EOF {
			t.Fatalf("past the end: %d, %v", n, err)
		}
	}},
	{"absent things say so", func(t *testing.T, s Storage) {
		ok(t, s.CreateExclusive(bg, "file", nil))
		for _, p := range []string{"no", "no/such", "file/below"} {
			_, err := s.Open(bg, p)
			is(t, err, fs.ErrNotExist)
			namesPath(t, err, p)
			_, err = s.ReadFile(bg, p)
			is(t, err, fs.ErrNotExist)
			_, err = s.Stat(bg, p)
			is(t, err, fs.ErrNotExist)
			_, err = s.List(bg, p)
			is(t, err, fs.ErrNotExist)
			_, _, err = s.TryLock(bg, p)
			is(t, err, fs.ErrNotExist)
			ok(t, s.Remove(bg, p))
			ok(t, s.RemoveAll(bg, p))
		}
	}},
	{"files and directories are told apart", func(t *testing.T, s Storage) {
		ok(t, s.CreateExclusive(bg, "d/f", []byte("x")))
		_, err := s.Open(bg, "d")
		is(t, err, ErrNotFile)
		_, err = s.ReadFile(bg, "d")
		is(t, err, ErrNotFile)
		_, err = s.List(bg, "d/f")
		is(t, err, ErrNotDirectory)
		is(t, s.MkdirAll(bg, "d/f"), ErrNotDirectory)
		is(t, s.MkdirAll(bg, "d/f/g"), ErrNotDirectory)
		is(t, s.CreateExclusive(bg, "d/f/g", nil), ErrNotDirectory)
		fi, err := s.Stat(bg, "d")
		ok(t, err)
		if !fi.IsDir || fi.Size != 0 || fi.Name != "d" {
			t.Fatalf("%+v", fi)
		}
	}},
	{"List sorts by name and knows one level", func(t *testing.T, s Storage) {
		for _, p := range []string{"b", "a/z", "a/deep/er", "c", "B", ".hidden"} {
			ok(t, s.CreateExclusive(bg, p, []byte(p)))
		}
		names(t, s, "", ".hidden", "B", "a", "b", "c")
		names(t, s, ".", ".hidden", "B", "a", "b", "c")
		names(t, s, "a", "deep", "z")
		names(t, s, "a/", "deep", "z")
		names(t, s, "./a//", "deep", "z")
		ok(t, s.MkdirAll(bg, "empty/one"))
		ok(t, s.MkdirAll(bg, "empty/one"))
		names(t, s, "empty/one")
	}},
	{"Remove takes files and empty directories", func(t *testing.T, s Storage) {
		ok(t, s.CreateExclusive(bg, "d/f", nil))
		if err := s.Remove(bg, "d"); err == nil {
			t.Fatal("a directory with a file was removed")
		}
		ok(t, s.Remove(bg, "d/f"))
		ok(t, s.Remove(bg, "d/f"))
		ok(t, s.Remove(bg, "d"))
		names(t, s, "")
	}},
	{"RemoveAll takes the tree and nothing beside it", func(t *testing.T, s Storage) {
		for _, p := range []string{"d/a/b", "d/c", "d2/x", "dd"} {
			ok(t, s.CreateExclusive(bg, p, nil))
		}
		ok(t, s.RemoveAll(bg, "d"))
		names(t, s, "", "d2", "dd")
		if err := s.RemoveAll(bg, ""); err == nil {
			t.Fatal("the root was removed")
		}
		names(t, s, "", "d2", "dd")
	}},
	{"paths that leave the root are refused", func(t *testing.T, s Storage) {
		for _, p := range []string{"..", "../x", "a/../../x", "/etc/passwd", "a\x00b"} {
			_, err := s.Open(bg, p)
			is(t, err, ErrOutside)
			_, err = s.List(bg, p)
			is(t, err, ErrOutside)
			is(t, s.CreateExclusive(bg, p, nil), ErrOutside)
			is(t, s.Replace(bg, p, nil), ErrOutside)
			_, err = s.Create(bg, p)
			is(t, err, ErrOutside)
			is(t, s.MkdirAll(bg, p), ErrOutside)
			is(t, s.Remove(bg, p), ErrOutside)
			is(t, s.RemoveAll(bg, p), ErrOutside)
			_, err = s.Lock(bg, p)
			is(t, err, ErrOutside)
		}
		for _, p := range []string{"", ".", "a/.."} {
			is(t, s.CreateExclusive(bg, p, nil), ErrNotFile)
			_, err := s.Create(bg, p)
			is(t, err, ErrNotFile)
		}
		ok(t, s.CreateExclusive(bg, "a/../b", nil))
		names(t, s, "", "b")
	}},
	{"names may hold what file systems allow", func(t *testing.T, s Storage) {
		for _, p := range []string{"city=são paulo/f 1", "q=%2F/x", `b=\n/y`, "..c/z"} {
			ok(t, s.CreateExclusive(bg, p, []byte(p)))
			content(t, s, p, p)
		}
	}},
	{"a lock excludes until it is unlocked", func(t *testing.T, s Storage) {
		unlock, err := s.Lock(bg, ".hoodie/.aux/shoal.lock")
		ok(t, err)
		_, got, err := s.TryLock(bg, ".hoodie/.aux/shoal.lock")
		ok(t, err)
		if got {
			t.Fatal("locked twice")
		}
		other, err := s.Lock(bg, ".hoodie/.aux/other.lock")
		ok(t, err)
		other()
		ctx, cancel := context.WithCancel(bg)
		cancelled := make(chan error)
		go func() {
			_, err := s.Lock(ctx, ".hoodie/.aux/shoal.lock")
			cancelled <- err
		}()
		cancel()
		is(t, <-cancelled, context.Canceled)
		unlock()
		unlock()
		again, got, err := s.TryLock(bg, ".hoodie/.aux/shoal.lock")
		ok(t, err)
		if !got {
			t.Fatal("still locked")
		}
		unlock() // of the first holder: must not free the second
		if _, got, _ := s.TryLock(bg, ".hoodie/.aux/shoal.lock"); got {
			t.Fatal("freed by a former holder")
		}
		again()
	}},
	{"goroutines exclude each other", func(t *testing.T, s Storage) {
		var inside, total int // guarded by the lock under test
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					unlock, err := s.Lock(bg, "l")
					if err != nil {
						t.Error(err)
						return
					}
					if inside++; inside != 1 {
						t.Errorf("%d inside", inside)
					}
					total++
					inside--
					unlock()
				}
			})
		}
		wg.Wait()
		if total != 160 {
			t.Fatal(total)
		}
	}},
	{"an ended context stops everything", func(t *testing.T, s Storage) {
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err := s.Open(ctx, "x")
		is(t, err, context.Canceled)
		is(t, s.CreateExclusive(ctx, "x", nil), context.Canceled)
		is(t, s.Remove(ctx, "x"), context.Canceled)
		_, _, err = s.TryLock(ctx, "x")
		is(t, err, context.Canceled)
		names(t, s, "")
	}},
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got %v, want %v", err, target)
	}
}

func namesPath(t *testing.T, err error, p string) {
	t.Helper()
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != p {
		t.Fatalf("%v does not name %s", err, p)
	}
}

func content(t *testing.T, s Storage, p, want string) {
	t.Helper()
	b, err := s.ReadFile(bg, p)
	ok(t, err)
	if string(b) != want {
		t.Fatalf("%s holds %q, want %q", p, b, want)
	}
}

func names(t *testing.T, s Storage, dir string, want ...string) {
	t.Helper()
	list, err := s.List(bg, dir)
	ok(t, err)
	got := []string{}
	for _, fi := range list {
		got = append(got, fi.Name)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q holds %q, want %q", dir, got, want)
	}
}
