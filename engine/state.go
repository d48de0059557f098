package engine

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/timeline"
)

// tableState is what a table's timeline and folders say at one set of completed instants.
// It is immutable; advancing makes a new one that shares the partitions that did not change.
type tableState struct {
	tl            *timeline.Timeline
	schema        *column.Schema // data columns
	schemaInstant string         // commit the schema is from; "" when from hoodie.properties
	partitions    map[string]*partitionState
	order         []string // partition paths, sorted
	pending       []PendingPlan
	rows, bytes   int64 // of the live slices; rows is -1 when a file's count is unknown
	files         int
}

// partitionState holds the file groups of one partition, live and replaced.
type partitionState struct {
	path   string
	groups map[string]*groupState
	live   []*FileGroup // not replaced, sorted by instant of the first slice, then file id
	byID   map[string]*FileGroup
}

// groupState is one file group with its committed slices, newest first.
type groupState struct {
	fileID     string
	slices     []FileSlice
	replacedBy []string // completed replacecommits that name it
}

// edit copies a partition for changing.
func (p *partitionState) edit() *partitionState {
	n := &partitionState{path: p.path, groups: make(map[string]*groupState, len(p.groups)+1)}
	for id, g := range p.groups {
		n.groups[id] = g
	}
	return n
}

// addSlice adds a committed slice to an edited partition. A slice of the same instant is replaced.
func (p *partitionState) addSlice(fileID string, s FileSlice) {
	old := p.groups[fileID]
	g := &groupState{fileID: fileID}
	if old != nil {
		g.replacedBy = old.replacedBy
		for _, o := range old.slices {
			if o.Instant != s.Instant {
				g.slices = append(g.slices, o)
			}
		}
	}
	g.slices = append(g.slices, s)
	sort.Slice(g.slices, func(i, j int) bool { return g.slices[i].Instant > g.slices[j].Instant })
	p.groups[fileID] = g
}

// replace marks a group of an edited partition as replaced. Groups whose files are gone are
// left out: there is nothing to hide.
func (p *partitionState) replace(fileID, instant string) {
	old := p.groups[fileID]
	if old == nil || slices.Contains(old.replacedBy, instant) {
		return
	}
	g := &groupState{fileID: fileID, slices: old.slices}
	g.replacedBy = append(append(g.replacedBy, old.replacedBy...), instant)
	p.groups[fileID] = g
}

// finish computes the live groups of an edited partition.
func (p *partitionState) finish() {
	p.live, p.byID = nil, make(map[string]*FileGroup, len(p.groups))
	for id, g := range p.groups {
		if len(g.replacedBy) == 0 && len(g.slices) > 0 {
			fg := &FileGroup{Partition: p.path, FileID: id, Slices: g.slices}
			p.live = append(p.live, fg)
			p.byID[id] = fg
		}
	}
	sort.Slice(p.live, func(i, j int) bool {
		a, b := p.live[i], p.live[j]
		ai, bi := a.Slices[len(a.Slices)-1].Instant, b.Slices[len(b.Slices)-1].Instant
		if ai != bi {
			return ai < bi
		}
		return a.FileID < b.FileID
	})
}

// finish computes what follows from the partitions. Partitions without groups are dropped.
func (s *tableState) finish() {
	s.order = s.order[:0]
	s.rows, s.bytes, s.files = 0, 0, 0
	for path, p := range s.partitions {
		if len(p.groups) == 0 {
			delete(s.partitions, path)
			continue
		}
		if len(p.live) == 0 {
			continue
		}
		s.order = append(s.order, path)
		for _, g := range p.live {
			l := g.Latest()
			s.bytes += l.Size
			s.files++
			if l.Rows < 0 || s.rows < 0 {
				s.rows = -1
			} else {
				s.rows += l.Rows
			}
		}
	}
	sort.Strings(s.order)
}

// asOf is the state in which only instants up to the given one have completed
// (docs/format.md: time travel).
func (s *tableState) asOf(ctx context.Context, t *Table, instant string) (*tableState, error) {
	commits := s.tl.CompletedCommits()
	if len(commits) == 0 || commits[0].Time > instant {
		hint := "the table has no commits"
		if len(commits) > 0 {
			hint = "the oldest commit of the active timeline is " + commits[0].Time
		}
		return nil, &NameError{Kind: ErrNoSuchInstant, Name: instant, Hint: hint}
	}
	var upTo []timeline.Instant
	for _, in := range s.tl.Instants() {
		if in.Time <= instant {
			upTo = append(upTo, in)
		}
	}
	n := &tableState{tl: timeline.New(upTo), partitions: map[string]*partitionState{}}
	for path, p := range s.partitions {
		q := &partitionState{path: path, groups: map[string]*groupState{}}
		for id, g := range p.groups {
			h := &groupState{fileID: id}
			for _, sl := range g.slices {
				if sl.Instant <= instant {
					h.slices = append(h.slices, sl)
				}
			}
			for _, r := range g.replacedBy {
				if r <= instant {
					h.replacedBy = append(h.replacedBy, r)
				}
			}
			if len(h.slices) > 0 {
				q.groups[id] = h
			}
		}
		q.finish()
		n.partitions[path] = q
	}
	n.finish()
	if err := n.resolveSchema(ctx, t, nil); err != nil {
		return nil, err
	}
	n.schema = withTypesOf(n.schema, s.schema)
	return n, nil
}

// withTypesOf gives the columns of an older schema the types that a newer one has for them:
// writers have corrected a column's unit later, and the older files hold what the newer schema
// says (docs/format.md: compatibility traps).
func withTypesOf(old, now *column.Schema) *column.Schema {
	out := &column.Schema{Fields: slices.Clone(old.Fields)}
	for i, f := range out.Fields {
		if j := now.Index(f.Name); j >= 0 && schema.Castable(f.Type, now.Fields[j].Type) {
			out.Fields[i].Type = now.Fields[j].Type
		}
	}
	return out
}

// changesSchema reports whether a commit's schema counts for the table: table services write
// the schema of what they rewrote.
func changesSchema(m *timeline.CommitMetadata) bool {
	switch m.OperationType {
	case timeline.OpCluster, timeline.OpCompact, timeline.OpIndex, timeline.OpLogCompact:
		return false
	}
	return m.ExtraMetadata[timeline.ExtraSchema] != ""
}

// resolveSchema finds the table schema: of the newest completed commit that may change it, else
// of hoodie.properties, else of a base file. known holds commits already read, by instant.
func (s *tableState) resolveSchema(ctx context.Context, t *Table, known map[string]*timeline.CommitMetadata) error {
	commits := s.tl.CompletedCommits()
	var fallback *timeline.CommitMetadata
	for i := len(commits) - 1; i >= 0; i-- {
		m := known[commits[i].Time]
		if m == nil {
			var err error
			if m, err = t.readCommit(ctx, commits[i]); err != nil {
				return err
			}
		}
		if changesSchema(m) {
			return s.setSchema(m.ExtraMetadata[timeline.ExtraSchema], commits[i].Time)
		}
		if fallback == nil && m.ExtraMetadata[timeline.ExtraSchema] != "" {
			fallback = m
		}
	}
	if t.config.CreateSchema != "" {
		return s.setSchema(t.config.CreateSchema, "")
	}
	if fallback != nil { // every other commit was archived
		return s.setSchema(fallback.ExtraMetadata[timeline.ExtraSchema], "")
	}
	if len(s.order) > 0 {
		f, err := t.openBaseFile(ctx, s.partitions[s.order[0]].live[0].Path())
		if err != nil {
			return err
		}
		defer f.Close()
		s.schema = f.Schema().WithoutMeta()
		return nil
	}
	return fmt.Errorf("%w: no schema in hoodie.table.create.schema, in any commit, nor in a base file", ErrMalformed)
}

func (s *tableState) setSchema(avro, instant string) error {
	sc, err := schema.FromAvro(avro)
	if err != nil {
		where := "hoodie.table.create.schema"
		if instant != "" {
			where = "the schema of instant " + instant
		}
		return fmt.Errorf("%w: %s: %w", ErrMalformed, where, err)
	}
	s.schema, s.schemaInstant = sc.WithoutMeta(), instant
	return nil
}

// partitionOf splits a write stat's path into partition and file name.
func partitionOf(path string) (partition, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// applyCommit adds one newly completed commit or replacecommit to partitions that are being
// edited. It returns false when the metadata does not tell the whole change.
func applyCommit(edit func(string) *partitionState, in timeline.Instant, m *timeline.CommitMetadata) bool {
	for partition, stats := range m.PartitionToWriteStats {
		for _, st := range stats {
			if st.Path == "" {
				continue // a partition that was only deleted from
			}
			p, file := partitionOf(st.Path)
			if p != partition {
				return false
			}
			name, err := basefile.ParseName(file)
			if err != nil || name.Instant != in.Time {
				return false
			}
			edit(partition).addSlice(name.FileID, FileSlice{Instant: name.Instant, FileName: file,
				Size: st.FileSizeInBytes, Rows: st.NumWrites})
		}
	}
	for partition, ids := range m.PartitionToReplaceFileIDs {
		for _, id := range ids {
			edit(partition).replace(id, in.Time)
		}
	}
	return true
}
