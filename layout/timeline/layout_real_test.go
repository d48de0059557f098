package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
)

// layout2Tables are the real tables of versions 8 and 9: how many completed instants of which
// action and operation each has, and its commits in their order, with the rows of the table as of
// each.
var layout2Tables = []struct {
	name    string
	version int
	actions string // "2× commit/UPSERT, indexing"; indexing has no operation here
	commits string // requested, completed, action, operation, rows
}{
	{"mor_v8_custom_keygen", 8, "7× deltacommit/UPSERT", `
		20250613132422252 20250613132427760 deltacommit UPSERT 1
		20250613132428004 20250613132429006 deltacommit UPSERT 2
		20250613132430691 20250613132431550 deltacommit UPSERT 3
		20250613132431701 20250613132432986 deltacommit UPSERT 4
		20250613132433100 20250613132433970 deltacommit UPSERT 5
		20250613132434058 20250613132435334 deltacommit UPSERT 6
		20250613132435431 20250613132436479 deltacommit UPSERT 7
	`},
	{"mor_v8_multi_pt", 8, "5× deltacommit/UPSERT, 2× deltacommit/UPSERT_PREPPED", `
		20250606044509541 20250606044514578 deltacommit UPSERT 1
		20250606044514823 20250606044515858 deltacommit UPSERT 2
		20250606044516064 20250606044517318 deltacommit UPSERT 3
		20250606044517435 20250606044518357 deltacommit UPSERT 4
		20250606044518475 20250606044519425 deltacommit UPSERT 5
		20250606044519766 20250606044520858 deltacommit UPSERT_PREPPED 5
		20250606044521042 20250606044521868 deltacommit UPSERT_PREPPED 5
	`},
	{"mor_v8_timestamp_keygen_scalar", 8, "5× deltacommit/UPSERT, deltacommit/UPSERT_PREPPED", `
		20250613121541984 20250613121546364 deltacommit UPSERT 1
		20250613121546516 20250613121547579 deltacommit UPSERT 2
		20250613121547819 20250613121548706 deltacommit UPSERT 3
		20250613121548774 20250613121549602 deltacommit UPSERT 4
		20250613121549667 20250613121550515 deltacommit UPSERT 5
		20250613121550785 20250613121551893 deltacommit UPSERT_PREPPED 5
	`},
	{"mor_v8_trips_8i1u", 8, "deltacommit/UPSERT, deltacommit/UPSERT_PREPPED", `
		20250713011913147 20250713011913490 deltacommit UPSERT 8
		20250713011914363 20250713011914662 deltacommit UPSERT_PREPPED 8
	`},
	{"mor_v8_trips_8i3u1d", 8, "deltacommit/UPSERT, indexing, 3× deltacommit/UPSERT_PREPPED, 2× deltacommit/DELETE_PREPPED, commit/COMPACT", `
		20251220210108078 20251220210109593 deltacommit UPSERT 8
		20251220210123755 20251220210124336 deltacommit UPSERT_PREPPED 8
		20251220210125441 20251220210126002 deltacommit DELETE_PREPPED 7
		20251220210127080 20251220210127601 deltacommit UPSERT_PREPPED 7
		20251220210128625 20251220210129197 deltacommit DELETE_PREPPED 6
		20251220210129235 20251220210129883 commit COMPACT 6
		20251220210130911 20251220210131755 deltacommit UPSERT_PREPPED 6
	`},
	{"mor_v9_all_data_types", 9, "deltacommit/INSERT, 2× deltacommit/UPSERT_PREPPED, deltacommit/DELETE_PREPPED", `
		20260409030537482 20260409030538962 deltacommit INSERT 5
		20260409030539332 20260409030540158 deltacommit UPSERT_PREPPED 5
		20260409030540482 20260409030541250 deltacommit DELETE_PREPPED 4
		20260409030541620 20260409030542489 deltacommit UPSERT_PREPPED 4
	`},
	{"mor_v9_log_only", 9, "deltacommit/INSERT, deltacommit/UPSERT_PREPPED, deltacommit/DELETE_PREPPED", `
		20260409030525348 20260409030526959 deltacommit INSERT 3
		20260409030527298 20260409030528163 deltacommit UPSERT_PREPPED 3
		20260409030528554 20260409030529392 deltacommit DELETE_PREPPED 2
	`},
	{"mor_v9_nonpart_3commits", 9, "deltacommit/INSERT, 2× deltacommit/UPSERT", `
		20260409002001492 20260409002002865 deltacommit INSERT 7
		20260409002002957 20260409002003873 deltacommit UPSERT 4
		20260409002003963 20260409002004871 deltacommit UPSERT 4
	`},
	{"mor_v9_timebasedkeygen_nonhivestyle", 9, "3× deltacommit/INSERT, deltacommit/UPSERT_PREPPED, deltacommit/DELETE_PREPPED", `
		20260403183858818 20260403183902538 deltacommit INSERT 4
		20260403183903764 20260403183904585 deltacommit INSERT 6
		20260403183906731 20260403183907495 deltacommit UPSERT_PREPPED 6
		20260403183908664 20260403183909231 deltacommit DELETE_PREPPED 5
		20260403183910147 20260403183910779 deltacommit INSERT 6
	`},
	{"mor_v9_txns_simple_nometa", 9, "5× deltacommit/INSERT, 3× deltacommit/UPSERT_PREPPED, 2× deltacommit/DELETE_PREPPED, replacecommit/INSERT_OVERWRITE, commit/COMPACT, replacecommit/CLUSTER", `
		20260307135827749 20260307135829538 deltacommit INSERT 8
		20260307135830801 20260307135831753 deltacommit UPSERT_PREPPED 8
		20260307135832616 20260307135833037 deltacommit DELETE_PREPPED 7
		20260307135833781 20260307135834136 deltacommit UPSERT_PREPPED 7
		20260307135834808 20260307135835085 deltacommit DELETE_PREPPED 6
		20260307135835748 20260307135836076 deltacommit UPSERT_PREPPED 6
		20260307135836605 20260307135836829 deltacommit INSERT 8
		20260307135837782 20260307135838045 replacecommit INSERT_OVERWRITE 6
		20260307135838542 20260307135838744 deltacommit INSERT 8
		20260307135839205 20260307135839403 deltacommit INSERT 10
		20260307135839895 20260307135840408 commit COMPACT 10
		20260307135840454 20260307135840902 replacecommit CLUSTER 10
		20260307135840975 20260307135841179 deltacommit INSERT 12
	`},
	{"v8_date_dim", 8, "commit/BULK_INSERT, indexing, commit/DELETE_PREPPED", `
		20250328221302172 20250328221318627 commit BULK_INSERT 73049
		20250617054938070 20250617054947247 commit DELETE_PREPPED 73049
	`},
	{"v8_empty", 8, "", `
	`},
	{"v8_field_names_in_caps_multikey", 8, "commit/BULK_INSERT", `
		20250812192305941 20250812192308823 commit BULK_INSERT 2
	`},
	{"v8_non_extractable_partition_path", 8, "commit/INSERT", `
		20250820081529370 20250820081531439 commit INSERT 4
	`},
	{"v8_nonpartitioned", 8, "2× commit/UPSERT", `
		20250713010535797 20250713010536200 commit UPSERT 3
		20250713010536861 20250713010537206 commit UPSERT 4
	`},
	{"v8_simplekeygen_hivestyle_no_metafields", 8, "commit/UPSERT", `
		20250713010620709 20250713010621060 commit UPSERT 4
	`},
	{"v8_simplekeygen_nonhivestyle", 8, "2× commit/UPSERT", `
		20250713011315930 20250713011316231 commit UPSERT 3
		20250713011316909 20250713011317225 commit UPSERT 4
	`},
	{"v8_simplekeygen_nonhivestyle_overwritetable", 8, "2× commit/UPSERT, replacecommit/INSERT_OVERWRITE_TABLE", `
		20250713011345587 20250713011345863 commit UPSERT 3
		20250713011346372 20250713011346780 commit UPSERT 4
		20250713011347462 20250713011347809 replacecommit INSERT_OVERWRITE_TABLE 1
	`},
	{"v9_lance_nonpartitioned", 9, "2× commit/INSERT, 2× commit/UPSERT_PREPPED, commit/DELETE_PREPPED", `
	`},
	{"v9_logical_types", 9, "3× commit/UPSERT", `
		20251024164830453 20251024164834900 commit UPSERT 17
		20251024165036371 20251024165039763 commit UPSERT 20
		20251107224258258 20251107224303445 commit UPSERT 20
	`},
	{"v9_timebasedkeygen_nonhivestyle", 9, "2× commit/INSERT, commit/UPSERT_PREPPED, commit/DELETE_PREPPED", `
		20260403183837738 20260403183841406 commit INSERT 4
		20260403183842444 20260403183843126 commit INSERT 6
		20260403183845020 20260403183845811 commit UPSERT_PREPPED 6
		20260403183846789 20260403183847336 commit DELETE_PREPPED 5
	`},
	{"v9_timebasedkeygen_unixtimestamp", 9, "2× commit/INSERT, commit/UPSERT_PREPPED, commit/DELETE_PREPPED", `
		20260403183918929 20260403183922548 commit INSERT 4
		20260403183923400 20260403183924163 commit INSERT 7
		20260403183926050 20260403183926900 commit UPSERT_PREPPED 7
		20260403183927991 20260403183928596 commit DELETE_PREPPED 6
	`},
	{"v9_txns_nonpart_meta", 9, "5× commit/INSERT, 3× commit/UPSERT_PREPPED, 2× commit/DELETE_PREPPED, replacecommit/CLUSTER, 2× indexing", `
		20260307162533871 20260307162537765 commit INSERT 8
		20260307162538726 20260307162539789 commit UPSERT_PREPPED 8
		20260307162540399 20260307162541110 commit DELETE_PREPPED 7
		20260307162541730 20260307162542487 commit UPSERT_PREPPED 7
		20260307162543114 20260307162543777 commit DELETE_PREPPED 6
		20260307162544384 20260307162545062 commit UPSERT_PREPPED 6
		20260307162545400 20260307162546138 commit INSERT 8
		20260307162546580 20260307162547768 commit INSERT 10
		20260307162548096 20260307162548803 commit INSERT 12
		20260307162549239 20260307162550190 replacecommit CLUSTER 12
		20260307162550266 20260307162550862 commit INSERT 14
	`},
	{"v9_txns_simple_nometa", 9, "5× commit/INSERT, 3× commit/UPSERT_PREPPED, 2× commit/DELETE_PREPPED, replacecommit/INSERT_OVERWRITE, replacecommit/CLUSTER", `
		20260307135657661 20260307135659468 commit INSERT 8
		20260307135700696 20260307135701669 commit UPSERT_PREPPED 8
		20260307135702545 20260307135702889 commit DELETE_PREPPED 7
		20260307135703515 20260307135703845 commit UPSERT_PREPPED 7
		20260307135704448 20260307135704716 commit DELETE_PREPPED 6
		20260307135705338 20260307135705630 commit UPSERT_PREPPED 6
		20260307135706094 20260307135706312 commit INSERT 8
		20260307135707243 20260307135707527 replacecommit INSERT_OVERWRITE 6
		20260307135708004 20260307135708214 commit INSERT 8
		20260307135708654 20260307135708860 commit INSERT 10
		20260307135709297 20260307135709818 replacecommit CLUSTER 10
		20260307135709890 20260307135710097 commit INSERT 12
	`},
	{"v9_txns_simple_overwrite", 9, "2× commit/INSERT, replacecommit/INSERT_OVERWRITE_TABLE", `
		20260403183955124 20260403183958943 commit INSERT 6
		20260403183959838 20260403184000568 commit INSERT 8
		20260403184001282 20260403184002260 replacecommit INSERT_OVERWRITE_TABLE 3
	`},
	{"v9_vector", 9, "replacecommit/INSERT_OVERWRITE_TABLE, commit/INSERT", `
		20260509162418985 20260509162420189 replacecommit INSERT_OVERWRITE_TABLE 1
		20260509162424094 20260509162424920 commit INSERT 2
	`},
}

func TestLayout2RealTables(t *testing.T) {
	if n := len(fixtures.Tables(t)); n < len(layout2Tables) {
		t.Fatalf("%d tables", n)
	}
	for _, c := range layout2Tables {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			st := open(t, fixtures.Table(t, c.name))
			p, err := ReadProperties(ctx, st)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := ParseTableConfig(p)
			if err != nil {
				t.Fatal(err)
			}
			first := c.version
			if c.name == "v9_logical_types" {
				first = 6 // made there, and brought to 9 by a later writer
			}
			layout, err := cfg.Layout()
			if err != nil || layout != Layout2 || cfg.Version != c.version || cfg.InitialVersion != first {
				t.Errorf("layout %d of version %d, first %d: %v", layout, cfg.Version, cfg.InitialVersion, err)
			}
			tl, err := LoadFor(ctx, st, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if pending := tl.Pending(); len(pending) != 0 {
				t.Errorf("pending: %v", pending)
			}

			counts := map[string]int{}
			var lines []string
			visible := map[string]WriteStat{} // newest base file of each file group
			for _, in := range tl.Completed() {
				if !isCommit(in) {
					counts[string(in.Action)]++
					continue
				}
				m, err := ReadCommit(ctx, st, cfg, in)
				if err != nil {
					t.Fatal(err)
				}
				counts[string(in.Action)+"/"+m.OperationType]++
				if m.ExtraMetadata[ExtraSchema] == "" {
					t.Errorf("%s: no schema", in)
				}
				for partition, stats := range m.PartitionToWriteStats {
					for _, s := range stats {
						if s.PartitionPath != partition {
							t.Errorf("%s: partition %q in %q", in, s.PartitionPath, partition)
						}
						if fi, err := st.Stat(ctx, s.Path); err == nil && fi.Size != s.FileSizeInBytes && in.Action != DeltaCommit {
							t.Errorf("%s: %s has %d bytes, not %d", in, s.Path, fi.Size, s.FileSizeInBytes)
						} else if err != nil && c.name != "v8_date_dim" && c.name != "v9_lance_nonpartitioned" {
							t.Errorf("%s: %v", in, err)
						}
						if (s.Log != nil) != strings.Contains(s.Path, ".log.") {
							t.Errorf("%s: %s: log stat %+v", in, s.Path, s.Log)
						}
						visible[partition+"/"+s.FileID] = s
					}
				}
				for partition, ids := range m.PartitionToReplaceFileIDs {
					for _, id := range ids {
						if _, ok := visible[partition+"/"+id]; !ok {
							t.Errorf("%s replaces %s of %q, which is not there", in, id, partition)
						}
						delete(visible, partition+"/"+id)
					}
				}
				line := fmt.Sprintf("%s %s %s %s", in.Time, in.CompletionTime, in.Action, m.OperationType)
				if cfg.Type == CopyOnWrite {
					rows := int64(0)
					for _, s := range visible {
						rows += s.NumWrites
					}
					line = fmt.Sprint(line, " ", rows)
				}
				lines = append(lines, line)
			}

			for _, a := range strings.Split(c.actions, ", ") {
				n, what, ok := strings.Cut(a, "× ")
				if !ok {
					n, what = "1", a
				}
				if what != "" && fmt.Sprint(counts[what]) != n {
					t.Errorf("%d of %s, want %s", counts[what], what, n)
				}
				delete(counts, what)
			}
			if len(counts) != 0 {
				t.Errorf("also has %v", counts)
			}
			var want []string
			for _, l := range strings.Split(strings.TrimSpace(c.commits), "\n") {
				f := strings.Fields(l)
				if cfg.Type == MergeOnRead && len(f) > 0 {
					f = f[:4] // log files change the number of rows by more than their stats say
				}
				if len(f) > 0 {
					want = append(want, strings.Join(f, " "))
				}
			}
			if want != nil && !slices.Equal(lines, want) {
				t.Errorf("commits:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}

			if got := tl.CommitsByCompletion(); !slices.IsSortedFunc(got, func(a, b Instant) int { return cmp.Compare(a.CompletionTime, b.CompletionTime) }) || len(got) != len(lines) {
				t.Errorf("by completion: %v", got)
			}
			if first, ok := tl.FirstCommit(); ok != (len(lines) > 0) || ok && !strings.HasPrefix(lines[0], first.Time) {
				t.Errorf("first commit %v %v", first, ok)
			}
			for _, l := range lines {
				f := strings.Fields(l)
				if done, ok := tl.CompletionOf(f[0]); !ok || done != f[1] {
					t.Errorf("completion of %s: %s %v", f[0], done, ok)
				}
			}
		})
	}
}

// Every file of every real timeline, of metadata tables too, has a name that is read and written
// back, and every workload profile is read.
func TestLayout2RealFiles(t *testing.T) {
	clusterings := 0
	for _, c := range layout2Tables {
		for _, dir := range []string{".hoodie/timeline", ".hoodie/metadata/.hoodie/timeline"} {
			for name, data := range fixtures.Files(t, c.name, dir) {
				if strings.HasPrefix(name, ".") {
					continue // sidecars and what desktops leave
				}
				in, ok := Layout2.ParseFileName(name)
				if !ok || in.FileName() != name || (in.State == Completed) != (in.CompletionTime != "") {
					t.Errorf("%s: %s is read as %+v", c.name, name, in)
				}
				if isCommit(in) || in.State == Inflight && (in.Action == Commit || in.Action == DeltaCommit || in.Action == ReplaceCommit) {
					m, err := DecodeAnyCommit(data)
					if err != nil {
						t.Errorf("%s: %s: %v", c.name, name, err)
					} else if len(data) > 0 && m.OperationType == "" {
						t.Errorf("%s: %s has no operation", c.name, name)
					}
				}
				if in.State == Requested && (in.Action == Clustering || in.Action == ReplaceCommit) {
					r, err := DecodeRequestedReplace(data)
					if err != nil || r.IsClustering() != (in.Action == Clustering) {
						t.Errorf("%s: %s: %+v, %v", c.name, name, r, err)
					} else if r.IsClustering() {
						clusterings++
					}
				}
			}
		}
	}
	if clusterings != 3 {
		t.Errorf("%d clustering plans, want 3", clusterings)
	}
}
