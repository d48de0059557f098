package timeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/storage"
)

func TestInitLayout(t *testing.T) {
	st := open(t, t.TempDir())
	must(t, InitLayout(bg, st, fresh()))
	var got []string
	err := filepath.WalkDir(st.Root(), func(p string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(st.Root(), p); rel != "." {
			got = append(got, rel)
		}
		return err
	})
	must(t, err)
	// What a fresh table of Hudi 0.15 has.
	want := []string{".hoodie", ".hoodie/.aux", ".hoodie/.aux/.bootstrap", ".hoodie/.aux/.bootstrap/.fileids",
		".hoodie/.aux/.bootstrap/.partitions", ".hoodie/.schema", ".hoodie/.temp", ".hoodie/archived", ".hoodie/hoodie.properties"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if value(t, st, KeyName) != "t" || value(t, st, KeyChecksum) == "" {
		t.Error("properties are not complete")
	}
	if err := InitLayout(bg, st, fresh()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	tl, err := Load(bg, st)
	if err != nil || len(tl.Instants()) != 0 {
		t.Errorf("%v, %v", tl, err)
	}
}

func TestInitLayoutCutShortIsNoTable(t *testing.T) {
	m := storage.NewMem()
	f := storage.NewFaulty(m, storage.Rule{Op: storage.OpCreateExclusive, Do: storage.Crash})
	if err := InitLayout(bg, f, fresh()); err == nil {
		t.Fatal("no crash")
	}
	if _, err := ReadProperties(bg, m); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, InitLayout(bg, m, fresh()))
}

func TestPartitionMetadata(t *testing.T) {
	st := open(t, t.TempDir())
	for partition, depth := range map[string]int{"": 0, "p=1": 1, "2018/08/31": 3, "a=x y/b=2": 2} {
		made, err := WritePartitionMetadata(bg, st, partition, t1)
		if err != nil || !made {
			t.Fatalf("%q: %v, %v", partition, made, err)
		}
		got, err := ReadPartitionMetadata(bg, st, partition)
		if err != nil || *got != (PartitionMetadata{CommitTime: t1, Depth: depth}) {
			t.Errorf("%q: %+v, %v", partition, got, err)
		}
		made, err = WritePartitionMetadata(bg, st, partition, "20240101000000002")
		if err != nil || made {
			t.Errorf("%q again: %v, %v", partition, made, err)
		}
		if got, _ := ReadPartitionMetadata(bg, st, partition); got.CommitTime != t1 {
			t.Errorf("%q was overwritten", partition)
		}
	}
	b, err := st.ReadFile(bg, "p=1/.hoodie_partition_metadata")
	must(t, err)
	if lines := strings.Split(string(b), "\n"); len(lines) != 5 || lines[0] != "#partition metadata" ||
		lines[1][0] != '#' || lines[2] != "commitTime="+t1 || lines[3] != "partitionDepth=1" {
		t.Errorf("%q", lines)
	}
}

func TestOneOfManyMakesAPartition(t *testing.T) {
	st := open(t, t.TempDir())
	var wins atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			made, err := WritePartitionMetadata(bg, st, "p=1", t1)
			if err != nil {
				t.Error(err)
			}
			if made {
				wins.Add(1)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d made it", wins.Load())
	}
}

func TestReadPartitionMetadataErrors(t *testing.T) {
	m := storage.NewMem()
	if _, err := ReadPartitionMetadata(bg, m, "p"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"", "commitTime=1\n", "partitionDepth=-1\n", "partitionDepth=x\n", "partitionDepth=\\u1\n"} {
		put(t, m, "p/.hoodie_partition_metadata", text)
		if _, err := ReadPartitionMetadata(bg, m, "p"); err == nil || !strings.Contains(err.Error(), "p/.hoodie_partition_metadata") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRealPartitionMetadata(t *testing.T) {
	for _, c := range []struct {
		table, partition string
		want             PartitionMetadata
	}{
		{"v5_non_part_clustered", "", PartitionMetadata{"20230828103614322", 0}},
		{"v3_stock_ticks", "2018/08/31", PartitionMetadata{"20211216071453747", 3}},
	} {
		got, err := ReadPartitionMetadata(bg, open(t, fixtures.Table(t, c.table)), c.partition)
		if err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v", c.table, got, err)
		}
	}
}

func TestIsPartitionMetadata(t *testing.T) {
	for name, want := range map[string]bool{
		".hoodie_partition_metadata":         true,
		".hoodie_partition_metadata.parquet": true,
		".hoodie_partition_metadata.orc":     true,
		"..hoodie_partition_metadata.crc":    false,
		".hoodie_partition_metadata.crc":     false,
		".hoodie_partition_metadata_0":       false,
		"hoodie_partition_metadata":          false,
		"x_0-1-2_20240101000000001.parquet":  false,
	} {
		if got := IsPartitionMetadata(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMarkers(t *testing.T) {
	st := open(t, t.TempDir())
	if got := MarkerPath(t1, "p=1/q=2", "f.parquet", MarkerCreate); got != ".hoodie/.temp/"+t1+"/p=1/q=2/f.parquet.marker.CREATE" {
		t.Error(got)
	}
	if got := MarkerPath(t1, "", "f.parquet", MarkerMerge); got != ".hoodie/.temp/"+t1+"/f.parquet.marker.MERGE" {
		t.Error(got)
	}
	if got, err := Markers(bg, st, t1); err != nil || got != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	if got, err := MarkerInstants(bg, st); err != nil || got != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	must(t, WriteMarker(bg, st, t1, "p=1/q=2", "b.parquet", MarkerMerge))
	must(t, WriteMarker(bg, st, t1, "p=1/q=2", "b.parquet", MarkerMerge))
	must(t, WriteMarker(bg, st, t1, "p=1/q=2", "b.parquet", MarkerCreate))
	must(t, WriteMarker(bg, st, t1, "", "a.parquet", MarkerCreate))
	must(t, WriteMarker(bg, st, "20240101000000002", "", "c.parquet", MarkerAppend))
	// The lists that Hudi's timeline server keeps; a path of theirs must not lead outside.
	put(t, st, ".hoodie/.temp/"+t1+"/MARKERS.type", "TIMELINE_SERVER_BASED")
	put(t, st, ".hoodie/.temp/"+t1+"/MARKERS0", "p=1/q=2/d.parquet.marker.CREATE\n\n../../x.parquet.marker.CREATE\nnoise\n")
	put(t, st, ".hoodie/.temp/"+t1+"/p=1/.b.parquet.marker.MERGE.crc", "")
	put(t, st, ".hoodie/.temp/"+t1+"/p=1/f.parquet.marker.DELETE", "")
	got, err := Markers(bg, st, t1)
	must(t, err)
	want := []Marker{
		{"", "a.parquet", MarkerCreate},
		{"p=1/q=2", "b.parquet", MarkerCreate},
		{"p=1/q=2", "b.parquet", MarkerMerge},
		{"p=1/q=2", "d.parquet", MarkerCreate},
		{"", "x.parquet", MarkerCreate},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got[1].Path() != "p=1/q=2/b.parquet" || got[0].Path() != "a.parquet" {
		t.Errorf("%v", got)
	}
	if got, err := MarkerInstants(bg, st); err != nil || strings.Join(got, " ") != t1+" 20240101000000002" {
		t.Errorf("%v, %v", got, err)
	}
	must(t, DeleteMarkers(bg, st, t1))
	must(t, DeleteMarkers(bg, st, t1))
	if got, _ := Markers(bg, st, t1); got != nil {
		t.Errorf("left: %v", got)
	}
	if got, _ := Markers(bg, st, "20240101000000002"); len(got) != 1 {
		t.Errorf("of another instant: %v", got)
	}
	for _, bad := range []string{"", "..", "x"} {
		if _, err := Markers(bg, st, bad); err == nil {
			t.Errorf("%q has markers", bad)
		}
		if DeleteMarkers(bg, st, bad) == nil || WriteMarker(bg, st, bad, "", "f", MarkerCreate) == nil {
			t.Errorf("%q is an instant", bad)
		}
	}
}
