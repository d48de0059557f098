package timeline

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shoaldb/shoal/internal/fixtures"
	"pgregory.net/rapid"
)

func realFile(t *testing.T, table, name string) []byte {
	t.Helper()
	b, ok := fixtures.Files(t, table, Dir)[name]
	if !ok {
		t.Fatalf("%s has no %s", table, name)
	}
	return b
}

func TestDecodeRealCommit(t *testing.T) {
	m, err := DecodeCommit(realFile(t, "v6_nonpartitioned", "20240418173551906.commit"))
	if err != nil {
		t.Fatal(err)
	}
	want := WriteStat{
		FileID:          "a079bdb3-731c-4894-b855-abfcd6921007-0",
		Path:            "a079bdb3-731c-4894-b855-abfcd6921007-0_0-203-274_20240418173551906.parquet",
		PrevCommit:      "20240418173550988",
		NumWrites:       4,
		NumUpdateWrites: 1,
		NumInserts:      1,
		TotalWriteBytes: 441520,
		FileSizeInBytes: 441520,
		RuntimeStats:    &RuntimeStats{TotalUpsertTime: 105},
	}
	if d := cmp.Diff(map[string][]WriteStat{"": {want}}, m.PartitionToWriteStats); d != "" {
		t.Error(d)
	}
	if m.OperationType != OpUpsert || m.Compacted || m.PartitionToReplaceFileIDs != nil ||
		!strings.HasPrefix(m.ExtraMetadata[ExtraSchema], `{"type":"record","name":"v6_nonpartitioned_record"`) {
		t.Errorf("%+v", m)
	}
}

func TestDecodeRealReplaceCommit(t *testing.T) {
	m, err := DecodeCommit(realFile(t, "mor_v6_payload_default", "20250929001930944.replacecommit"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"": {"39e0b9a5-f648-4835-8fa0-b23afc39614a-0", "09751c97-1208-4b85-86c2-152cc8590397-0",
		"bddc2d03-a025-41e2-9c4d-5de13f580bc8-0", "b83934a4-dc91-4f60-b4c8-58051ea0dd13-0", "ff9900f1-20f9-421d-8448-b3ac89cb56ac-0"}}
	if d := cmp.Diff(want, m.PartitionToReplaceFileIDs); d != "" || m.OperationType != OpCluster {
		t.Errorf("%s %s", m.OperationType, d)
	}
	if n := len(m.PartitionToWriteStats[""]); n != 5 {
		t.Errorf("%d files", n)
	}
	for _, s := range m.PartitionToWriteStats[""] {
		if s.PrevCommit != NoPrevCommit || s.NumWrites != 1 {
			t.Errorf("%+v", s)
		}
	}
}

func TestDecodeRealDeltaCommit(t *testing.T) {
	m, err := DecodeCommit(realFile(t, "mor_v6_trips_8i1u", "20250331030645735.deltacommit"))
	if err != nil {
		t.Fatal(err)
	}
	log := ".d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0_20250331030642808.log.1_0-26-85"
	want := &LogStat{LogVersion: 1, BaseFile: "d0304c53-6fd2-4b7a-a9d6-5ff632f79224-0_0-13-60_20250331030642808.parquet", LogFiles: []string{log}}
	got := m.PartitionToWriteStats["city=san_francisco"]
	if len(got) != 1 || got[0].Path != "city=san_francisco/"+log {
		t.Fatalf("%+v", got)
	}
	if d := cmp.Diff(want, got[0].Log); d != "" {
		t.Error(d)
	}
	if m.ExtraMetadata["_hoodie.spark.sql.writes.prepped"] != "true" {
		t.Errorf("%v", m.ExtraMetadata)
	}
}

// Every JSON commit file of the real tables says the same after it was read and written again,
// and of the releases we write the format of, in the same bytes where maps have one key.
func TestRealCommitsAreWrittenAsRead(t *testing.T) {
	files, exact := 0, 0
	for _, table := range fixtures.Tables(t) {
		for name, text := range fixtures.Files(t, table, Dir) {
			in, ok := ParseFileName(name)
			if !ok || in.State == Requested || in.Action != Commit && in.Action != DeltaCommit && in.Action != ReplaceCommit {
				continue
			}
			m, err := DecodeCommit(text)
			if err != nil {
				t.Errorf("%s %s: %v", table, in, err)
				continue
			}
			got, err := m.Encode()
			if err != nil {
				t.Errorf("%s %s: %v", table, in, err)
				continue
			}
			files++
			if len(text) == 0 {
				continue
			}
			var a, b map[string]any
			if err := json.Unmarshal(got, &a); err != nil {
				t.Fatalf("%s %s: %v", table, in, err)
			}
			if err := json.Unmarshal(text, &b); err != nil {
				t.Fatal(err)
			}
			if !includes(a, b) {
				t.Errorf("%s %s: written\n%s", table, in, got)
			}
			if !strings.Contains(table, "v6") {
				continue
			}
			if len(m.PartitionToWriteStats) <= 1 && len(m.ExtraMetadata) <= 1 && len(m.PartitionToReplaceFileIDs) <= 1 {
				exact++
				if string(got) != string(text) {
					t.Errorf("%s %s: read\n%s\nwritten\n%s", table, in, text, got)
				}
			}
		}
	}
	if files < 60 || exact < 30 {
		t.Errorf("only %d files, %d of them byte for byte", files, exact)
	}
}

// notKept is what some releases write beyond the format of version 6, besides totals over the
// whole commit.
var notKept = []string{"fileIdAndRelativePaths", "fileIdAndFullPaths", "writePartitionPaths", "writeStats", "minAndMaxEventTime",
	"extraMetadataMap", "columnStats", "numUpdates", "prevBaseFile"}

// includes reports whether a has all that b has, except for what is not kept.
func includes(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		a, ok := a.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range b {
			w, ok := a[k]
			if k == "recordsStats" || !ok && (strings.HasPrefix(k, "total") || slices.Contains(notKept, k)) {
				continue
			}
			if !ok || !includes(w, v) {
				return false
			}
		}
		return true
	case []any:
		a, ok := a.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range b {
			if !includes(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func TestDecodeCommitTolerates(t *testing.T) {
	for claim, text := range map[string]string{
		"an empty file":   "",
		"blank":           " \n",
		"null":            "null",
		"nothing in it":   "{}",
		"null maps":       `{"partitionToWriteStats":null,"extraMetadata":null,"compacted":null,"operationType":null}`,
		"unknown members": `{"newThing":{"a":[1]},"totalScanTime":5}`,
	} {
		m, err := DecodeCommit([]byte(text))
		if err != nil || m.PartitionToWriteStats == nil || m.ExtraMetadata == nil ||
			len(m.PartitionToWriteStats)+len(m.ExtraMetadata) != 0 || m.OperationType != "" {
			t.Errorf("%s: %+v, %v", claim, m, err)
		}
	}
	m, err := DecodeCommit([]byte(`{"partitionToWriteStats":{"p":[{"prevCommit":null,"numWrites":9007199254740993,"path":null}],"q":null},
		"extraMetadata":{"n":12,"b":true,"z":null,"f":1.50,"s":"é\"\n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := m.PartitionToWriteStats["p"][0]; s.NumWrites != 9007199254740993 || s.PrevCommit != NoPrevCommit || s.Path != "" {
		t.Errorf("%+v", s)
	}
	if d := cmp.Diff(map[string]string{"n": "12", "b": "true", "z": "", "f": "1.50", "s": "é\"\n"}, m.ExtraMetadata); d != "" {
		t.Error(d)
	}
}

func TestDecodeCommitErrors(t *testing.T) {
	for _, text := range []string{
		"{", "[]", "x", `{"compacted":1}`, `{"partitionToWriteStats":[]}`, `{"partitionToWriteStats":{"p":{}}}`, `{"extraMetadata":{"a":[1]}}`,
		`{"extraMetadata":{"a":{}}}`, `{"partitionToWriteStats":{"p":[{"numWrites":1.5}]}}`, `{"partitionToWriteStats":{"p":[{"numWrites":"1"}]}}`,
		`{"partitionToWriteStats":{"p":[{"numWrites":9223372036854775808}]}}`, "{} {}", "Obj\x01\x04", "\x00\x00",
	} {
		if m, err := DecodeCommit([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "commit metadata: ") {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
}

func TestEncodeRefusesWhatHudiCannotRead(t *testing.T) {
	if _, err := (&CommitMetadata{OperationType: "CLUSTERING"}).Encode(); err == nil || !strings.Contains(err.Error(), "CLUSTERING") {
		t.Errorf("%v", err)
	}
	m := &CommitMetadata{PartitionToWriteStats: map[string][]WriteStat{"p": {{Path: "/data/t/p/f.parquet"}}}}
	if _, err := m.Encode(); err == nil || !strings.Contains(err.Error(), "/data/t/p/f.parquet") {
		t.Errorf("%v", err)
	}
}

func TestEncodeCommit(t *testing.T) {
	event := int64(math.MaxInt64)
	m := &CommitMetadata{
		PartitionToWriteStats: map[string][]WriteStat{
			"b=2": {},
			"a=\"1\"": {{FileID: "f-0", Path: "a=\"1\"/f-0_1-0-1_20240101000000001.parquet", PartitionPath: "a=\"1\"", CDCStats: map[string]int64{"y": 2, "x": 1},
				MinEventTime: &event, Log: &LogStat{LogFiles: []string{}}}},
		},
		Compacted:                 true,
		ExtraMetadata:             map[string]string{"k\\": "\x00\x1f\t\n\r\b\f/<é\u2028\xff"},
		OperationType:             OpCompact,
		PartitionToReplaceFileIDs: map[string][]string{},
	}
	want := `{
  "partitionToWriteStats" : {
    "a=\"1\"" : [ {
      "fileId" : "f-0",
      "path" : "a=\"1\"/f-0_1-0-1_20240101000000001.parquet",
      "cdcStats" : {
        "x" : 1,
        "y" : 2
      },
      "prevCommit" : "null",
      "numWrites" : 0,
      "numDeletes" : 0,
      "numUpdateWrites" : 0,
      "numInserts" : 0,
      "totalWriteBytes" : 0,
      "totalWriteErrors" : 0,
      "tempPath" : null,
      "partitionPath" : "a=\"1\"",
      "totalLogRecords" : 0,
      "totalLogFilesCompacted" : 0,
      "totalLogSizeCompacted" : 0,
      "totalUpdatedRecordsCompacted" : 0,
      "totalLogBlocks" : 0,
      "totalCorruptLogBlock" : 0,
      "totalRollbackBlocks" : 0,
      "fileSizeInBytes" : 0,
      "minEventTime" : 9223372036854775807,
      "maxEventTime" : null,
      "runtimeStats" : null,
      "logVersion" : 0,
      "logOffset" : 0,
      "baseFile" : "",
      "logFiles" : [ ],
      "recordsStats" : {
        "val" : null
      }
    } ],
    "b=2" : [ ]
  },
  "compacted" : true,
  "extraMetadata" : {
    "k\\" : "\u0000\u001F\t\n\r\b\f/<é` + "\u2028\ufffd" + `"
  },
  "operationType" : "COMPACT",
  "partitionToReplaceFileIds" : { }
}`
	got, err := m.Encode()
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestCommitRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.Rune())
	count := rapid.Int64()
	stat := rapid.Custom(func(t *rapid.T) WriteStat {
		s := WriteStat{
			FileID: text.Draw(t, "id"), Path: "p" + text.Draw(t, "path"), PartitionPath: text.Draw(t, "partition"), PrevCommit: "p" + text.Draw(t, "prev"),
			NumWrites: count.Draw(t, "n"), NumDeletes: count.Draw(t, "n"), NumInserts: count.Draw(t, "n"), NumUpdateWrites: count.Draw(t, "n"),
			TotalWriteBytes: count.Draw(t, "n"), FileSizeInBytes: count.Draw(t, "n"), TotalLogBlocks: count.Draw(t, "n"),
		}
		if rapid.Bool().Draw(t, "log") {
			s.Log = &LogStat{LogVersion: count.Draw(t, "n"), LogOffset: count.Draw(t, "n"), BaseFile: text.Draw(t, "base"),
				LogFiles: append([]string{}, rapid.SliceOfN(text, 0, 3).Draw(t, "logs")...)}
		}
		if rapid.Bool().Draw(t, "times") {
			n := count.Draw(t, "n")
			s.MinEventTime, s.RuntimeStats = &n, &RuntimeStats{1, 2, n}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		m := &CommitMetadata{
			PartitionToWriteStats: rapid.MapOfN(text, rapid.SliceOfN(stat, 1, 3), 0, 3).Draw(t, "stats"),
			Compacted:             rapid.Bool().Draw(t, "compacted"),
			ExtraMetadata:         rapid.MapOfN(text, text, 0, 3).Draw(t, "extra"),
			OperationType:         rapid.SampledFrom(operations).Draw(t, "op"),
		}
		if rapid.Bool().Draw(t, "replace") {
			m.PartitionToReplaceFileIDs = rapid.MapOfN(text, rapid.SliceOfN(text, 1, 3), 0, 3).Draw(t, "ids")
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeCommit(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecodeCommit(f *testing.F) {
	f.Add([]byte(`{"partitionToWriteStats":{"p":[{"fileId":"f","path":"p/f","logFiles":["l"]}]},"extraMetadata":{"a":1},"operationType":"INSERT"}`))
	f.Add([]byte(`{"partitionToReplaceFileIds":{"":["a"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := DecodeCommit(text)
		if err != nil {
			return
		}
		b, err := m.Encode()
		if err != nil {
			return
		}
		again, err := DecodeCommit(b)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, b, err)
		}
		if c, err := again.Encode(); err != nil || string(c) != string(b) {
			t.Errorf("%q, then %q: %v", b, c, err)
		}
	})
}

// The inflight files of real tables are profiles: making one of the same numbers gives their bytes.
func TestWorkloadProfile(t *testing.T) {
	for _, c := range []struct {
		table, file, op string
		parts           map[string]PartitionProfile
	}{
		{"mor_v6_upgrade", "20250802170358631.deltacommit.inflight", OpInsert,
			map[string]PartitionProfile{"2023-01-04": {Inserts: 2}}},
		{"v6_nonpartitioned", "20240418173551906.inflight", OpUpsert,
			map[string]PartitionProfile{"": {Inserts: 1, Updates: []UpdateProfile{
				{FileID: "a079bdb3-731c-4894-b855-abfcd6921007-0", BaseInstant: "20240418173550988", Rows: 1}}}}},
		{"mor_v6_simplekeygen_nonhivestyle_overwritetable", "20250121000702475.replacecommit.inflight", OpInsertOverwriteTable,
			map[string]PartitionProfile{"30": {Inserts: 1}}},
	} {
		got, err := WorkloadProfile(c.op, c.parts).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if want := realFile(t, c.table, c.file); string(got) != string(want) {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.table, c.file, got, want)
		}
	}
}
