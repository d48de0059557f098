package timeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/twmb/avro"
)

func layout2File(t *testing.T, table, name string) []byte {
	t.Helper()
	b, ok := fixtures.Files(t, table, ".hoodie/timeline")[name]
	if !ok {
		t.Fatalf("%s has no %s", table, name)
	}
	return b
}

// noSchema leaves the long schema text out of a comparison.
var noSchema = cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "ExtraMetadata") }, cmp.Ignore())

func TestDecodeRealAvroReplaceCommit(t *testing.T) {
	m, err := DecodeAvroCommit(layout2File(t, "v9_txns_simple_nometa", "20260307135707243_20260307135707527.replacecommit"))
	if err != nil {
		t.Fatal(err)
	}
	want := &CommitMetadata{
		PartitionToWriteStats: map[string][]WriteStat{"region=eu": {{
			FileID:     "2ecf970b-9f50-488a-b55b-6ee0f6e29d3c-0",
			Path:       "region=eu/2ecf970b-9f50-488a-b55b-6ee0f6e29d3c-0_0-47-98_20260307135707243.parquet",
			PrevCommit: NoPrevCommit, NumWrites: 2, NumInserts: 2, TotalWriteBytes: 438470, FileSizeInBytes: 438470,
			PartitionPath: "region=eu", RuntimeStats: &RuntimeStats{TotalCreateTime: 87},
		}}},
		OperationType:             OpInsertOverwrite,
		PartitionToReplaceFileIDs: map[string][]string{"region=eu": {"85da9a6c-19df-476b-b2ec-6f55e9eaaf67-0", "a80c27f5-2f65-435f-8308-7a4b85f01626-0"}},
	}
	if d := cmp.Diff(want, m, noSchema); d != "" {
		t.Error(d)
	}
	if s := m.ExtraMetadata[ExtraSchema]; len(m.ExtraMetadata) != 1 || !strings.HasPrefix(s, `{"type":"record","name":"v9_txns_cow_simple_nometa_record"`) {
		t.Errorf("schema %.80s", s)
	}
}

func TestDecodeRealAvroWorkloadProfile(t *testing.T) {
	m, err := DecodeAvroCommit(layout2File(t, "v9_txns_simple_nometa", "20260307135700696.inflight"))
	if err != nil {
		t.Fatal(err)
	}
	want := &CommitMetadata{
		PartitionToWriteStats: map[string][]WriteStat{"region=us": {
			{PrevCommit: NoPrevCommit},
			{FileID: "742a4f26-7e5c-4b1c-bb9a-d13433f75557-0", PrevCommit: "20260307135657661", NumUpdateWrites: 1},
		}},
		ExtraMetadata: map[string]string{}, OperationType: OpUpsertPrepped,
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
}

func TestDecodeRealAvroDeltaCommit(t *testing.T) {
	m, err := DecodeAvroCommit(layout2File(t, "mor_v8_trips_8i3u1d", "20251220210123755_20251220210124336.deltacommit"))
	if err != nil {
		t.Fatal(err)
	}
	const log = ".036ded81-9ed4-479f-bcea-7145dfa0079b-0_20251220210123755.log.1_0-1022-2928"
	want := map[string][]WriteStat{"city=san_francisco": {{
		FileID: "036ded81-9ed4-479f-bcea-7145dfa0079b-0", Path: "city=san_francisco/" + log, PartitionPath: "city=san_francisco",
		PrevCommit: "20251220210123755", NumWrites: 1, NumUpdateWrites: 1, TotalWriteBytes: 1153, FileSizeInBytes: 1153,
		RuntimeStats: &RuntimeStats{TotalUpsertTime: 75}, Log: &LogStat{LogVersion: 1, LogFiles: []string{log}},
	}}}
	if d := cmp.Diff(want, m.PartitionToWriteStats); d != "" || m.Compacted || m.ExtraMetadata["_hoodie.spark.sql.writes.prepped"] != "true" {
		t.Error(d, m.Compacted)
	}
}

func TestDecodeRealAvroCompaction(t *testing.T) {
	m, err := DecodeAvroCommit(layout2File(t, "mor_v8_trips_8i3u1d", "20251220210129235_20251220210129883.commit"))
	if err != nil {
		t.Fatal(err)
	}
	want := []WriteStat{{
		FileID:        "6e1d5cc4-c487-487d-abbe-fe9b30b1c0cc-0",
		Path:          "city=chennai/6e1d5cc4-c487-487d-abbe-fe9b30b1c0cc-0_0-1112-3190_20251220210129235.parquet",
		PartitionPath: "city=chennai", PrevCommit: "20251220210108078", NumWrites: 1, NumDeletes: 1, NumInserts: 1,
		TotalWriteBytes: 436098, FileSizeInBytes: 436098, TotalLogRecords: 2, TotalUpdatedRecordsCompacted: 1, TotalLogBlocks: 2,
		TotalLogFilesCompacted: 2, TotalLogSizeCompacted: 2117, RuntimeStats: &RuntimeStats{TotalScanTime: 5, TotalUpsertTime: 105},
	}}
	if d := cmp.Diff(want, m.PartitionToWriteStats["city=chennai"]); d != "" || !m.Compacted || len(m.PartitionToWriteStats) != 3 {
		t.Error(d, m.Compacted)
	}
}

// What the Avro form says is, field by field, what our JSON form of it says.
func TestRealAvroCommitsLoseNothing(t *testing.T) {
	// Fields that CommitMetadata does not have: no reader needs them.
	dropped := map[string]bool{"version": true, "totalLogFiles": true, "prevBaseFile": true, "totalLogReadTimeMs": true, "numUpdates": true}
	var strip func(v any) any // of those, and of nulls and empty values
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if e = strip(e); e == nil || dropped[k] {
					delete(v, k)
				} else {
					v[k] = e
				}
			}
			if len(v) == 0 {
				return nil
			}
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
			if len(v) == 0 {
				return nil
			}
		case string:
			if v == "" {
				return nil
			}
		case float64:
			if v == 0 {
				return nil
			}
		case bool:
			if !v {
				return nil
			}
		}
		return v
	}
	plain := func(b []byte) (v any) {
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		return strip(v)
	}
	n := 0
	for _, c := range layout2Tables {
		for name, data := range fixtures.Files(t, c.name, ".hoodie/timeline") {
			if in, ok := Layout2.ParseFileName(name); !ok || !isCommit(in) {
				continue
			}
			_, record := wire(t, data)
			want, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			m, err := DecodeAvroCommit(data)
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, name, err)
			}
			got, err := m.Encode()
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, name, err)
			}
			if d := cmp.Diff(plain(want), plain(got)); d != "" {
				t.Errorf("%s: %s: %s", c.name, name, d)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d commits", n)
	}
}

const statsOnly = `{"type":"record","name":"HoodieCommitMetadata","fields":[
	{"name":"partitionToWriteStats","type":["null",{"type":"map","values":{"type":"array","items":
		{"type":"record","name":"HoodieWriteStat","fields":[{"name":"fileId","type":["null","string"]},{"name":"logFiles","type":["null",{"type":"array","items":"string"}]}]}}}]},
	{"name":"later","type":["null","string"]}]}`

func TestDecodeAvroCommitOfOtherSchemas(t *testing.T) {
	type stat struct {
		FileID   string    `avro:"fileId"`
		LogFiles *[]string `avro:"logFiles"`
	}
	type commit struct {
		Stats map[string][]stat `avro:"partitionToWriteStats"`
		Later string            `avro:"later"`
	}
	data, err := encodeRecord("test", avro.MustParse(statsOnly), commit{
		Stats: map[string][]stat{"p": {{FileID: "a"}, {FileID: "b", LogFiles: &[]string{"l"}}}}, Later: "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := &CommitMetadata{
		PartitionToWriteStats: map[string][]WriteStat{"p": {
			{FileID: "a", PrevCommit: NoPrevCommit},
			{FileID: "b", PrevCommit: NoPrevCommit, Log: &LogStat{LogFiles: []string{"l"}}}}},
		ExtraMetadata: map[string]string{},
	}
	for name, decode := range map[string]func([]byte) (*CommitMetadata, error){"Avro": DecodeAvroCommit, "any": DecodeAnyCommit} {
		m, err := decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(want, m); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDecodeAnyCommit(t *testing.T) {
	empty := &CommitMetadata{PartitionToWriteStats: map[string][]WriteStat{}, ExtraMetadata: map[string]string{}}
	json := *empty
	json.OperationType = OpInsert
	for text, want := range map[string]*CommitMetadata{"": empty, " \n": empty, `{"operationType":"INSERT"}`: &json} {
		got, err := DecodeAnyCommit([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	for _, text := range []string{"Obj", "PAR1", "{", "Obj\x01", "Obj\x01\x00"} {
		if m, err := DecodeAnyCommit([]byte(text)); err == nil || !strings.Contains(err.Error(), "commit metadata") {
			t.Errorf("%q: %+v %v", text, m, err)
		}
	}
	if m, err := DecodeAvroCommit([]byte("{}")); err == nil {
		t.Errorf("JSON is read as Avro: %+v", m)
	}
}

// container makes an object container file of raw bytes.
func container(schema string, block []byte, records int64) []byte {
	text := func(b []byte, s string) []byte { return append(binary.AppendVarint(b, int64(len(s))), s...) }
	b := []byte("Obj\x01\x02")
	b = text(text(b, "avro.schema"), schema)
	b = append(b, 0)
	sync := bytes.Repeat([]byte{7}, 16)
	b = append(b, sync...)
	b = binary.AppendVarint(b, records)
	b = binary.AppendVarint(b, int64(len(block)))
	return append(append(b, block...), sync...)
}

// Counts that the file claims are not believed before the bytes are there, whatever the schema
// says that an item takes.
func TestAvroCommitMemory(t *testing.T) {
	schemas := map[string]string{
		"stats":       statsOnly,
		"empty stats": strings.Replace(statsOnly, `{"name":"fileId","type":["null","string"]},{"name":"logFiles","type":["null",{"type":"array","items":"string"}]}`, "", 1),
	}
	for name, schema := range schemas {
		for _, claim := range []int64{1 << 16, 1 << 24, 1 << 31, 1 << 40, 1 << 62} {
			block := []byte{2, 2, 2, 'p'} // not null, one partition, "p"
			block = binary.AppendVarint(block, claim)
			data := container(schema, block, 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := DecodeAvroCommit(data)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s: a claim of %d stats was believed", name, claim)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<22 {
				t.Errorf("%s: a claim of %d stats took %d bytes: %v", name, claim, took, err)
			}
		}
	}
}

func FuzzDecodeAvroCommit(f *testing.F) {
	f.Add(container(statsOnly, []byte{2, 2, 2, 'p', 2, 2, 2, 'f', 0, 0, 0, 0}, 1))
	f.Add(container(statsOnly, []byte{0, 0}, 1))
	f.Add(container(`{"type":"record","name":"c","fields":[{"name":"operationType","type":"string"},{"name":"extraMetadata","type":{"type":"map","values":"string"}},
		{"name":"partitionToReplaceFileIds","type":{"type":"map","values":{"type":"array","items":"string"}}}]}`, []byte{2, 'I', 2, 2, 'k', 2, 'v', 0, 2, 2, 'p', 2, 2, 'f', 0, 0}, 1))
	f.Add([]byte("Obj\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeAvroCommit(data)
		if err != nil {
			return
		}
		b, err := m.Encode()
		if err != nil {
			return // an operation of another name, an absolute path
		}
		again, err := DecodeCommit(b)
		if err != nil {
			t.Fatalf("written as %q: %v", b, err)
		}
		if c, err := again.Encode(); err != nil || !bytes.Equal(b, c) {
			t.Errorf("%q, then %q: %v", b, c, err)
		}
	})
}

// The container is as good as never hit by chance; this one varies the record inside.
func FuzzAvroCommitRecord(f *testing.F) {
	optional := func(typ string, names ...string) (fields []string) {
		for _, n := range names {
			fields = append(fields, avroOptional(n, typ))
		}
		return fields
	}
	runtimeStats := avroRecord("HoodieRuntimeStats", optional(`"long"`, "totalScanTime", "totalCreateTime", "totalUpsertTime")...)
	stat := avroRecord("HoodieWriteStat", slices.Concat(optional(avroString, "fileId", "path", "prevCommit"),
		optional(`"long"`, "numWrites", "fileSizeInBytes"), optional(`"int"`, "logVersion"),
		optional(avroArray(avroString), "logFiles"), optional(avroMap(`"long"`), "cdcStats"), optional(runtimeStats, "runtimeStats"))...)
	schema := avroRecord("HoodieReplaceCommitMetadata", slices.Concat(optional(avroMap(avroArray(stat)), "partitionToWriteStats"),
		optional(`"boolean"`, "compacted"), optional(avroMap(avroString), "extraMetadata"), []string{avroVersion("1")},
		optional(avroString, "operationType"), optional(avroMap(avroArray(avroString)), "partitionToReplaceFileIds"))...)

	text := func(s string) []byte { return append([]byte{2, byte(2 * len(s))}, s...) }
	full := slices.Concat(
		[]byte{2, 2, 2, 'p', 2}, text("f"), text("p/f"), text("null"), []byte{2, 8, 2, 16, 2, 2}, // to logVersion
		[]byte{2, 2, 2, 'l', 0}, []byte{2, 2, 2, 'c', 6, 0}, []byte{2, 0, 0, 2, 4}, []byte{0, 0}, // to the end of the map
		[]byte{2, 1}, []byte{2, 2, 2, 'k', 2, 'v', 0}, []byte{0, 2}, text("CLUSTER"), []byte{2, 2, 2, 'p', 2, 2, 'f', 0, 0})
	m, err := DecodeAvroCommit(container(schema, full, 1))
	if err != nil {
		f.Fatal(err)
	}
	want := &CommitMetadata{
		PartitionToWriteStats: map[string][]WriteStat{"p": {{FileID: "f", Path: "p/f", PrevCommit: "null", NumWrites: 4, FileSizeInBytes: 8,
			Log: &LogStat{LogVersion: 1, LogFiles: []string{"l"}}, CDCStats: map[string]int64{"c": 3}, RuntimeStats: &RuntimeStats{TotalUpsertTime: 2}}}},
		Compacted: true, ExtraMetadata: map[string]string{"k": "v"}, OperationType: OpCluster,
		PartitionToReplaceFileIDs: map[string][]string{"p": {"f"}},
	}
	if d := cmp.Diff(want, m); d != "" {
		f.Fatal(d)
	}
	f.Add(full)
	f.Add([]byte{0, 0, 0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, record []byte) {
		m, err := DecodeAvroCommit(container(schema, record, 1))
		if err != nil {
			return
		}
		if b, err := m.Encode(); err == nil {
			if _, err := DecodeCommit(b); err != nil {
				t.Errorf("written as %q: %v", b, err)
			}
		}
	})
}
