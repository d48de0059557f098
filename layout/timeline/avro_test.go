package timeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// wire reads a container without our types: its schema and its one record.
func wire(t *testing.T, data []byte) (schema any, record map[string]any) {
	t.Helper()
	r, err := ocf.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if codec := string(r.Metadata()["avro.codec"]); codec != "" && codec != "null" {
		t.Errorf("codec %s", codec)
	}
	if err := json.Unmarshal(r.Metadata()["avro.schema"], &schema); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := r.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if err := r.Decode(&v); !errors.Is(err, io.EOF) {
		t.Errorf("a second record: %v", err)
	}
	return schema, v.(map[string]any)
}

func encoded(t *testing.T, r interface{ Encode() ([]byte, error) }) []byte {
	t.Helper()
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeRealClusteringPlan(t *testing.T) {
	r, err := DecodeRequestedReplace(realFile(t, "v5_non_part_clustered", "20230828103622376.replacecommit.requested"))
	if err != nil {
		t.Fatal(err)
	}
	preserve := true
	want := &RequestedReplace{
		OperationType: "CLUSTER",
		ClusteringPlan: &ClusteringPlan{
			InputGroups: []ClusteringGroup{{
				Slices: []SliceInfo{{
					DataFilePath:   "file:/Users/attila.toth/repos/test-hudi-client/hudi_non_part_cow_clustered/b47f318e-3dfb-48fc-ad64-6f4ac2ab5c08-0_0-21-18_20230828103614322.parquet",
					DeltaFilePaths: []string{},
					FileID:         "b47f318e-3dfb-48fc-ad64-6f4ac2ab5c08-0",
					Version:        1,
				}},
				Metrics:             map[string]float64{MetricLogFiles: 0, MetricLogFilesSize: 0, MetricIOMB: 0, MetricIOReadMB: 0, MetricIOWriteMB: 0},
				NumOutputFileGroups: 1, Version: 1,
			}},
			Strategy: &ClusteringStrategy{StrategyClassName: "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy",
				StrategyParams: map[string]string{}, Version: 1},
			ExtraMetadata: map[string]string{}, Version: 1, PreserveHoodieMetadata: &preserve,
		},
		ExtraMetadata: map[string]string{}, Version: 1,
	}
	if d := cmp.Diff(want, r, cmp.Transformer("", func(m map[string]string) int { return len(m) })); d != "" {
		t.Error(d)
	}
	if !r.IsClustering() {
		t.Error("not a clustering")
	}
	if got := r.ClusteringPlan.InputGroups[0].Slices[0].BaseFile(); got != "b47f318e-3dfb-48fc-ad64-6f4ac2ab5c08-0_0-21-18_20230828103614322.parquet" {
		t.Error(got)
	}
}

func TestDecodeRealPlanWithLogFiles(t *testing.T) {
	r, err := DecodeRequestedReplace(realFile(t, "mor_v6_payload_default", "20250929001930944.replacecommit.requested"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	logs := 0
	for _, g := range r.ClusteringPlan.InputGroups {
		for _, s := range g.Slices {
			ids = append(ids, s.FileID)
			logs += len(s.DeltaFilePaths)
		}
	}
	// The completed replacecommit names the groups it replaced: these.
	want := []string{"39e0b9a5-f648-4835-8fa0-b23afc39614a-0", "09751c97-1208-4b85-86c2-152cc8590397-0",
		"bddc2d03-a025-41e2-9c4d-5de13f580bc8-0", "b83934a4-dc91-4f60-b4c8-58051ea0dd13-0", "ff9900f1-20f9-421d-8448-b3ac89cb56ac-0"}
	if d := cmp.Diff(want, ids); d != "" || logs != 5 {
		t.Errorf("%d log files, %s", logs, d)
	}
	r, err = DecodeRequestedReplace(realFile(t, "mor_v6_compact_cluster_clean", "20250922132203239.replacecommit.requested"))
	if err != nil {
		t.Fatal(err)
	}
	if g := r.ClusteringPlan.InputGroups; len(g) != 2 || len(g[0].Slices) != 2 || g[1].Slices[0].PartitionPath != "2023-01-02" {
		t.Errorf("%+v", g)
	}
}

func TestOverwriteIsNoClustering(t *testing.T) {
	r, err := DecodeRequestedReplace(realFile(t, "mor_v6_simplekeygen_nonhivestyle_overwritetable", "20250121000702475.replacecommit.requested"))
	if err != nil || r == nil || r.OperationType != "" || r.ClusteringPlan != nil || r.IsClustering() {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = DecodeRequestedReplace(nil)
	if err != nil || r != nil || r.IsClustering() {
		t.Errorf("an empty file: %+v, %v", r, err)
	}
}

// Our containers carry the schemas that Hudi's own do.
func TestSchemasAreThoseOfRealFiles(t *testing.T) {
	schema := func(b []byte) any { s, _ := wire(t, b); return s }
	got := schema(encoded(t, &RequestedReplace{}))
	want := schema(realFile(t, "mor_v6_payload_default", "20250929001924395.replacecommit.requested"))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("requested replacecommit: %s", d)
	}
	// Those of a clean lack a field that later releases have, and carry documentation.
	for _, c := range []struct {
		file string
		got  []byte
	}{
		{"20250922132207268.clean.requested", encoded(t, &CleanerPlan{})},
		{"20250922132207268.clean", encoded(t, &CleanMetadata{})},
	} {
		want := plain(schema(realFile(t, "mor_v6_compact_cluster_clean", c.file))).(map[string]any)
		got := plain(schema(c.got)).(map[string]any)
		fields := got["fields"].([]any)
		last := fields[len(fields)-1].(map[string]any)
		if last["name"] != "extraMetadata" {
			t.Errorf("%s: last field %v", c.file, last)
		}
		got["fields"] = fields[:len(fields)-1]
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.file, d)
		}
	}
}

// plain drops what has no meaning in a schema: docs, and the default of a type.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, w := range v {
			if k == "doc" || k == "default" && v["type"] == "map" && v["name"] == nil {
				continue
			}
			out[k] = plain(w)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, w := range v {
			out[i] = plain(w)
		}
		return out
	}
	return v
}

func TestRealRequestsAreWrittenAsRead(t *testing.T) {
	n := 0
	for _, table := range fixtures.Tables(t) {
		for name, data := range fixtures.Files(t, table, Dir) {
			in, ok := ParseFileName(name)
			if !ok || len(data) == 0 {
				continue
			}
			var got []byte
			var err error
			switch {
			case in.Action == ReplaceCommit && in.State == Requested:
				got, err = again(DecodeRequestedReplace(data))
			case in.Action == Clean && in.State == Completed:
				got, err = again(DecodeCleanMetadata(data))
			case in.Action == Clean:
				got, err = again(DecodeCleanerPlan(data))
			default:
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", table, name, err)
				continue
			}
			n++
			_, want := wire(t, data)
			_, have := wire(t, got)
			for k, v := range want {
				if v == nil && k == "version" { // null means the default
					v = int32(1)
				}
				if !includes(have[k], v) { // old records have fewer fields
					t.Errorf("%s %s: %s is %v, was %v", table, name, k, have[k], v)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d files", n)
	}
}

func again[T interface{ Encode() ([]byte, error) }](r T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return r.Encode()
}

func TestEncodePlanFillsWhatReadersExpect(t *testing.T) {
	r := &RequestedReplace{OperationType: OpCluster, ClusteringPlan: &ClusteringPlan{
		InputGroups: []ClusteringGroup{{Slices: []SliceInfo{{DataFilePath: "file:///t/f", FileID: "f-0"}}}},
		Strategy:    &ClusteringStrategy{StrategyClassName: "X"},
	}}
	_, got := wire(t, encoded(t, r))
	want := map[string]any{
		"operationType": "CLUSTER",
		"clusteringPlan": map[string]any{
			"inputGroups": []any{map[string]any{
				"slices": []any{map[string]any{
					"dataFilePath": "file:///t/f", "deltaFilePaths": []any{}, "fileId": "f-0", "partitionPath": "", "bootstrapFilePath": "",
					"version": int32(1)}},
				"metrics": nil, "numOutputFileGroups": int32(1), "extraMetadata": nil, "version": int32(1)}},
			"strategy":      map[string]any{"strategyClassName": "X", "strategyParams": map[string]any{}, "version": int32(1)},
			"extraMetadata": nil, "version": int32(1), "preserveHoodieMetadata": nil},
		"extraMetadata": nil, "version": int32(1)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r.ClusteringPlan.InputGroups[0].Slices[0].DeltaFilePaths != nil || r.ClusteringPlan.Strategy.StrategyParams != nil {
		t.Error("Encode changed its receiver")
	}
	// The replacecommits that are no clusterings carry nulls and the version.
	_, got = wire(t, encoded(t, &RequestedReplace{}))
	if d := cmp.Diff(map[string]any{"operationType": nil, "clusteringPlan": nil, "extraMetadata": nil, "version": int32(1)}, got); d != "" {
		t.Error(d)
	}
}

func TestEncodeRollback(t *testing.T) {
	plan := &RollbackPlan{InstantToRollback: &InstantInfo{CommitTime: "1", Action: "commit"},
		Requests: []RollbackRequest{{PartitionPath: "p", FilesToBeDeleted: []string{"file:///t/p/f"}}, {FileID: "f-0", LatestBaseInstant: "0"}}}
	b := encoded(t, plan)
	_, got := wire(t, b)
	want := map[string]any{
		"instantToRollback": map[string]any{"commitTime": "1", "action": "commit"},
		"RollbackRequests": []any{
			map[string]any{"partitionPath": "p", "fileId": "", "latestBaseInstant": "", "filesToBeDeleted": []any{"file:///t/p/f"}, "logBlocksToBeDeleted": map[string]any{}},
			map[string]any{"partitionPath": "", "fileId": "f-0", "latestBaseInstant": "0", "filesToBeDeleted": []any{}, "logBlocksToBeDeleted": map[string]any{}},
		},
		"version": int32(1),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	meta := &RollbackMetadata{StartRollbackTime: "2", TimeTakenInMillis: 1 << 40, TotalFilesDeleted: 1, CommitsRollback: []string{"1"},
		PartitionMetadata: map[string]RollbackPartitionMetadata{"p": {PartitionPath: "p", SuccessDeleteFiles: []string{"file:///t/p/f"}}},
		InstantsRollback:  []InstantInfo{{"1", "commit"}}}
	b = encoded(t, meta)
	_, got = wire(t, b)
	want = map[string]any{
		"startRollbackTime": "2", "timeTakenInMillis": int64(1 << 40), "totalFilesDeleted": int32(1), "commitsRollback": []any{"1"},
		"partitionMetadata": map[string]any{"p": map[string]any{"partitionPath": "p", "successDeleteFiles": []any{"file:///t/p/f"},
			"failedDeleteFiles": []any{}, "rollbackLogFiles": nil, "logFilesFromFailedCommit": nil}},
		"version": int32(1), "instantsRollback": []any{map[string]any{"commitTime": "1", "action": "commit"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	back, err := DecodeRollbackMetadata(b)
	if err != nil || back.PartitionMetadata["p"].SuccessDeleteFiles[0] != "file:///t/p/f" || back.InstantsRollback[0].Action != "commit" {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestEncodeSavepoint(t *testing.T) {
	m := &SavepointMetadata{SavepointedBy: "me", SavepointedAt: 1711900000123, Comments: "before the migration",
		PartitionMetadata: map[string]SavepointPartitionMetadata{"": {SavepointDataFile: []string{"f_0-1-2_3.parquet"}}, "q": {PartitionPath: "q"}}}
	b := encoded(t, m)
	_, got := wire(t, b)
	want := map[string]any{"savepointedBy": "me", "savepointedAt": int64(1711900000123), "comments": "before the migration",
		"partitionMetadata": map[string]any{
			"":  map[string]any{"partitionPath": "", "savepointDataFile": []any{"f_0-1-2_3.parquet"}},
			"q": map[string]any{"partitionPath": "q", "savepointDataFile": []any{}}},
		"version": int32(1)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	back, err := DecodeSavepointMetadata(b)
	if err != nil || back.Comments != m.Comments || len(back.PartitionMetadata) != 2 {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestDecodeRealClean(t *testing.T) {
	p, err := DecodeCleanerPlan(realFile(t, "mor_v6_compact_cluster_clean", "20250922132207268.clean.requested"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&ActionInstant{"20250922132157875", "deltacommit", "COMPLETED"}, p.EarliestInstantToRetain); d != "" {
		t.Error(d)
	}
	if p.Policy != KeepLatestCommits || p.LastCompletedCommitTimestamp != "20250922132205093" || p.Version != 2 ||
		len(p.FilePathsToBeDeletedPerPartition["2023-01-01"]) != 4 || len(p.FilePathsToBeDeletedPerPartition["2023-01-02"]) != 1 ||
		!strings.HasSuffix(p.FilePathsToBeDeletedPerPartition["2023-01-02"][0].FilePath, "/449fde7c-546d-4dc7-bb16-f3f9e2d61389-0_2-13-26_20250922132126575.parquet") {
		t.Errorf("%+v", p)
	}
	m, err := DecodeCleanMetadata(realFile(t, "mor_v6_compact_cluster_clean", "20250922132207268.clean"))
	if err != nil {
		t.Fatal(err)
	}
	if m.StartCleanTime != "20250922132207268" || m.TotalFilesDeleted != 5 || m.EarliestCommitToRetain != "20250922132157875" ||
		m.PartitionMetadata["2023-01-02"].SuccessDeleteFiles[0] != "449fde7c-546d-4dc7-bb16-f3f9e2d61389-0_2-13-26_20250922132126575.parquet" {
		t.Errorf("%+v", m)
	}
	if b := encoded(t, &CleanMetadata{}); b != nil {
		_, got := wire(t, b)
		if got["version"] != int32(2) || got["partitionMetadata"] == nil {
			t.Errorf("%v", got)
		}
	}
}

// Another writer may pack the record, order its unions otherwise and have other fields.
func TestDecodeForeignContainers(t *testing.T) {
	schema := avro.MustParse(`{"type":"record","name":"HoodieRequestedReplaceMetadata","namespace":"org.apache.hudi.avro.model","fields":[
		{"name":"added","type":{"type":"array","items":"long"}},
		{"name":"operationType","type":"string"},
		{"name":"clusteringPlan","type":[{"type":"record","name":"HoodieClusteringPlan","fields":[
			{"name":"inputGroups","type":[{"type":"array","items":{"type":"record","name":"HoodieClusteringGroup","fields":[
				{"name":"slices","type":["null",{"type":"array","items":{"type":"record","name":"HoodieSliceInfo","fields":[
					{"name":"fileId","type":["string","null"]},{"name":"partitionPath","type":["null","string"]}]}}]}]}},"null"]},
			{"name":"missingSchedulePartitions","type":["null",{"type":"array","items":"string"}]}]},"null"]}]}`)
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema, ocf.WithCodec(ocf.DeflateCodec(6)))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Encode(map[string]any{"added": []any{int64(1)}, "operationType": "CLUSTER", "clusteringPlan": map[string]any{
		"inputGroups":               []any{map[string]any{"slices": []any{map[string]any{"fileId": "f-0", "partitionPath": nil}}}},
		"missingSchedulePartitions": []any{"p"}}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeRequestedReplace(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsClustering() || r.ClusteringPlan.InputGroups[0].Slices[0].FileID != "f-0" || r.ClusteringPlan.Strategy != nil {
		t.Errorf("%+v", r)
	}
}

func TestDecodeAvroErrors(t *testing.T) {
	whole := encoded(t, &RequestedReplace{OperationType: "CLUSTER", ClusteringPlan: &ClusteringPlan{}})
	var empty bytes.Buffer
	w, err := ocf.NewWriter(&empty, requestedReplaceSchema)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for claim, b := range map[string][]byte{
		"text":            []byte("{}"),
		"magic only":      []byte("Obj\x01"),
		"no record":       empty.Bytes(),
		"cut short":       whole[:len(whole)-20],
		"cut in its head": whole[:len(whole)/2],
	} {
		if r, err := DecodeRequestedReplace(b); err == nil || r != nil || !strings.HasPrefix(err.Error(), "requested replacecommit: ") {
			t.Errorf("%s: %+v, %v", claim, r, err)
		}
	}
}

// A file of a few kilobytes must not take the memory that its block claims to need.
func TestBlockLongerThanItsFile(t *testing.T) {
	whole := encoded(t, &RequestedReplace{})
	sync := whole[len(whole)-16:]
	head := whole[:bytes.Index(whole, sync)+len(sync)]
	for _, claim := range []int64{int64(len(whole)) * 2, 1 << 26, 1 << 40} {
		b := binary.AppendVarint(bytes.Clone(head), 1) // records
		b = binary.AppendVarint(b, claim)              // bytes
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeRequestedReplace(b)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("a claim of %d bytes was believed", claim)
		}
		took := after.TotalAlloc - before.TotalAlloc
		if took > 1<<21 {
			t.Errorf("a claim of %d bytes took %d", claim, took)
		}
	}
}

func FuzzDecodeRequestedReplace(f *testing.F) {
	b, err := (&RequestedReplace{OperationType: "CLUSTER", ClusteringPlan: &ClusteringPlan{
		InputGroups: []ClusteringGroup{{Slices: []SliceInfo{{FileID: "f"}}, Metrics: map[string]float64{"a": 1}}}}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRequestedReplace(data)
		if err != nil || r == nil {
			return
		}
		b, err := r.Encode()
		if err != nil {
			return // such as text that is not UTF-8
		}
		if _, err := DecodeRequestedReplace(b); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}

func TestPlanPaths(t *testing.T) {
	st := open(t, t.TempDir())
	root := st.Root()
	for file, want := range map[string]string{
		"p=1/f_0-1-2_3.parquet":        "file://" + root + "/p=1/f_0-1-2_3.parquet",
		"city=são paulo/50%/f.parquet": "file://" + root + "/city=são paulo/50%/f.parquet",
	} {
		if got := PlanPath(st, file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
		if got := PlanFile(file[:strings.LastIndex(file, "/")], want); got != file {
			t.Errorf("%s comes back as %s", file, got)
		}
	}
	if got := PlanPath(storage.NewMem(), "a/b"); got != "mem:///a/b" {
		t.Error(got)
	}
	for _, c := range []struct{ partition, text, want string }{
		{"", "", ""},
		{"p", "", ""},
		{"", "file:/old/place/t/f.parquet", "f.parquet"},
		{"a/b", "hdfs://nn:8020/old/t/a/b/f.parquet", "a/b/f.parquet"},
		{"a", "/data/t/a/f.parquet", "a/f.parquet"},
		{"a", "a/f.parquet", "a/f.parquet"},
		{"a", "f.parquet", "a/f.parquet"},
	} {
		if got := PlanFile(c.partition, c.text); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.text, c.partition, got, c.want)
		}
	}
}
