package clustering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// executionFunc is a strategy for one test.
type executionFunc func(ctx context.Context, j *Job) error

func (f executionFunc) Execute(ctx context.Context, j *Job) error { return f(ctx, j) }

// rewriting is a strategy that changes the batches on their way.
func rewriting(change func(*column.Batch) []*column.Batch) executionFunc {
	return func(ctx context.Context, j *Job) error {
		out := j.Output()
		err := j.Read(ctx, func(b *column.Batch) error {
			for _, b := range change(b) {
				if err := out.Write(ctx, b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return out.Close(ctx)
	}
}

// withKeys puts other record keys into a batch.
func withKeys(b *column.Batch, key func(i int) string) *column.Batch {
	keys := column.NewBuilder(column.Type{Kind: column.String}, b.Len)
	for i := range b.Len {
		keys.AppendBytes([]byte(key(i)))
	}
	out := &column.Batch{Schema: b.Schema, Cols: slices.Clone(b.Cols), Len: b.Len}
	out.Cols[b.Schema.Index(column.MetaRecordKey)] = keys.Finish()
	return out
}

// register makes a strategy available for the time of a test.
func register(t *testing.T, name string, s ExecutionStrategy) {
	RegisterExecutionStrategy(name, s)
	t.Cleanup(func() {
		executionStrategies.mu.Lock()
		defer executionStrategies.mu.Unlock()
		delete(executionStrategies.byName, name)
	})
}

// badStrategies are all wrong but TestCopy.
func badStrategies() map[string]ExecutionStrategy {
	return map[string]ExecutionStrategy{
		"TestCopy":   rewriting(func(b *column.Batch) []*column.Batch { return []*column.Batch{b} }),
		"TestLose":   rewriting(func(b *column.Batch) []*column.Batch { return []*column.Batch{b.Slice(1, b.Len)} }),
		"TestDouble": rewriting(func(b *column.Batch) []*column.Batch { return []*column.Batch{b, b.Slice(0, 1)} }),
		"TestRekey": rewriting(func(b *column.Batch) []*column.Batch {
			return []*column.Batch{withKeys(b, func(i int) string { return fmt.Sprint("other", i) })}
		}),
		// The last row's key stands for all: the count is right, and each key one that was read.
		"TestRepeat": rewriting(func(b *column.Batch) []*column.Batch {
			last := string(b.Column(column.MetaRecordKey).Bytes(b.Len - 1))
			return []*column.Batch{withKeys(b, func(int) string { return last })}
		}),
		"TestNothing": executionFunc(func(context.Context, *Job) error { return nil }),
		"TestOpen": executionFunc(func(ctx context.Context, j *Job) error {
			out := j.Output()
			return j.Read(ctx, func(b *column.Batch) error { return out.Write(ctx, b) })
		}),
		"TestPanic": executionFunc(func(context.Context, *Job) error { panic("in a strategy") }),
	}
}

// TestNothingIsCommittedWithoutProof runs strategies that lose, double or change rows: none gets its
// work committed, none leaves a file, and the plan can be executed afterwards.
func TestNothingIsCommittedWithoutProof(t *testing.T) {
	for name, s := range badStrategies() {
		register(t, name, s)
	}
	for _, table := range []struct {
		name string
		spec engine.TableSpec
	}{
		{"keyed", engine.TableSpec{RecordKey: []string{"id"}}},
		{"keyless", engine.TableSpec{}},
	} {
		t.Run(table.name, func(t *testing.T) {
			b := newBed(t, engine.Options{}, Options{}, table.spec)
			for i := range 3 {
				b.insert(fmt.Sprintf(`%d,"a",1,null`, 2*i), fmt.Sprintf(`%d,"b",2,null`, 2*i+1))
			}
			rows, files := b.content(b.snapshot()), parquetFiles(t, b.tab.BasePath())
			b.run(Request{Op: Schedule})
			for class, want := range map[string]string{
				"TestLose": "6 rows were read, 3 written", "TestDouble": "6 rows were read, 9 written",
				"TestRekey": "record keys", "TestRepeat": "record keys", "TestNothing": "6 rows were read, 0 written",
				"TestOpen": "output open", "TestPanic": "panic: in a strategy",
			} {
				_, err := b.s.Run(context.Background(), b.tab, Request{Op: Execute, Options: map[string]string{keyExecutionClass: "com.example." + class}}, nil)
				var failed *ExecutionError
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "group 1") {
					t.Errorf("%s: %v, want %q", class, err, want)
				}
				var proof *ProofError
				if wrong := strings.Contains(want, "read") || strings.Contains(want, "keys"); errors.As(err, &proof) != wrong {
					t.Errorf("%s: %v", class, err)
				}
				if s := b.snapshot(); s.Files() != 3 || b.content(s) != rows || len(s.Pending()) != 1 || parquetFiles(t, b.tab.BasePath()) != files {
					t.Fatalf("%s: %d files, %d pending", class, s.Files(), len(s.Pending()))
				}
			}
			b.run(Request{Op: Execute, Options: map[string]string{keyExecutionClass: "TestCopy"}})
			if s := b.snapshot(); s.Files() != 1 || b.content(s) != rows {
				t.Fatalf("%d files", s.Files())
			}
		})
	}
}

// TestTallyComparesSetsOfRows checks that order and batches do not matter, and rows without keys do
// count by what they have.
func TestTallyComparesSetsOfRows(t *testing.T) {
	s := (&column.Schema{Fields: []column.Field{{Name: "id", Type: column.Type{Kind: column.Int64}}}}).WithMeta()
	batch := func(dict bool, rows ...string) *column.Batch {
		b := &column.Batch{Schema: s, Len: len(rows)}
		for _, f := range s.Fields {
			c := column.NewBuilder(f.Type, 0)
			if dict && f.Type.Kind == column.String {
				c = column.NewDictBuilder(f.Type, 0)
			}
			for i, r := range rows {
				key, seq, _ := strings.Cut(r, "/")
				switch {
				case f.Type.Kind == column.Int64:
					c.AppendInt64(int64(i))
				case f.Name == column.MetaRecordKey && key != "":
					c.AppendBytes([]byte(key))
				case f.Name == column.MetaCommitSeqno:
					c.AppendBytes([]byte(seq))
				default:
					c.AppendNull()
				}
			}
			b.Cols = append(b.Cols, c.Finish())
		}
		return b
	}
	sum := func(batches ...*column.Batch) (t tally) {
		for _, b := range batches {
			t.add(b, tallyColumns(s, true))
		}
		return t
	}
	all := sum(batch(false, "a/1", "a/2", "b/3", "/4"))
	if again := sum(batch(true, "a/9", "a/9", "a/9", "b/9").Slice(1, 4), batch(false, "/4")); again != all {
		t.Errorf("%+v, want %+v", again, all)
	}
	for _, other := range []*column.Batch{batch(false, "a/1", "b/2", "b/3", "/4"), batch(false, "a/1", "a/2", "b/3", "/5"),
		batch(false, "a/1", "a/2", "b/3")} {
		if sum(other) == all {
			t.Errorf("%d rows count as the same", other.Len)
		}
	}
}
