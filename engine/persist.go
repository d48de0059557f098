package engine

import (
	"context"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/timeline"
)

// What the catalog keeps of a table's state. Failing to read or write it costs a listing, never
// a statement, so errors are logged here and go no further.

func catalogInstants(ins []timeline.Instant) []catalog.Instant {
	out := make([]catalog.Instant, len(ins))
	for i, in := range ins {
		out[i] = catalog.Instant{Time: in.Time, Action: string(in.Action), State: in.State.String()}
	}
	return out
}

// deltaOf adds one commit to what the catalog is told.
func deltaOf(d *catalog.Delta, in timeline.Instant, m *timeline.CommitMetadata) {
	for i := range d.PutInstants {
		if d.PutInstants[i].Time == in.Time && d.PutInstants[i].Action == string(in.Action) {
			d.PutInstants[i].Operation = m.OperationType
		}
	}
	for partition, stats := range m.PartitionToWriteStats {
		d.AddPartitions = append(d.AddPartitions, partition)
		for _, st := range stats {
			_, file := partitionOf(st.Path)
			if name, err := basefile.ParseName(file); err == nil {
				d.AddSlices = append(d.AddSlices, catalog.Slice{Partition: partition, FileID: name.FileID,
					Instant: name.Instant, FileName: file, Size: st.FileSizeInBytes, Rows: st.NumWrites})
			}
		}
	}
	for partition, ids := range m.PartitionToReplaceFileIDs {
		for _, id := range ids {
			d.AddReplaced = append(d.AddReplaced, catalog.Replaced{Partition: partition, FileID: id, Instant: in.Time})
		}
	}
}

// saveState tells the catalog what changed; without a delta it gets the whole state.
func (t *Table) saveState(ctx context.Context, old, next *tableState, delta *catalog.Delta) {
	var err error
	if delta != nil && old != nil {
		if len(delta.PutInstants)+len(delta.DropInstants) == 0 {
			return
		}
		err = t.w.cat.ApplyDelta(ctx, t.id, delta)
	} else {
		full := &catalog.State{Instants: catalogInstants(next.tl.Instants())}
		for path, p := range next.partitions {
			full.Partitions = append(full.Partitions, path)
			for id, g := range p.groups {
				for _, s := range g.slices {
					full.Slices = append(full.Slices, catalog.Slice{Partition: path, FileID: id, Instant: s.Instant,
						FileName: s.FileName, Size: s.Size, Rows: s.Rows})
				}
				for _, r := range g.replacedBy {
					full.Replaced = append(full.Replaced, catalog.Replaced{Partition: path, FileID: id, Instant: r})
				}
			}
		}
		err = t.w.cat.ReplaceState(ctx, t.id, full)
	}
	if err != nil {
		t.log.Warn("catalog not brought up to date; the next start lists the table anew", "error", err)
		// A catalog that missed a change must not be believed later.
		if err := t.w.cat.ReplaceState(ctx, t.id, &catalog.State{}); err != nil {
			t.log.Warn("catalog not reset", "error", err)
		}
	}
}

// loadState makes a state from the catalog; nil when it has none. Whether it is still true is
// for advance to find out, against the timeline.
func (t *Table) loadState(ctx context.Context) *tableState {
	cs, err := t.w.cat.LoadState(ctx, t.id)
	if err != nil {
		t.log.Warn("catalog not read; the table is listed", "error", err)
		return nil
	}
	if cs == nil || len(cs.Slices) == 0 {
		return nil
	}
	s := &tableState{partitions: map[string]*partitionState{}}
	var ins []timeline.Instant
	for _, in := range cs.Instants {
		state, ok := timeline.ParseState(in.State)
		if !ok {
			return nil
		}
		ins = append(ins, timeline.Instant{Time: in.Time, Action: timeline.Action(in.Action), State: state})
	}
	s.tl = timeline.New(ins)
	part := func(path string) *partitionState {
		p := s.partitions[path]
		if p == nil {
			p = &partitionState{path: path, groups: map[string]*groupState{}}
			s.partitions[path] = p
		}
		return p
	}
	for _, sl := range cs.Slices {
		part(sl.Partition).addSlice(sl.FileID, FileSlice{Instant: sl.Instant, FileName: sl.FileName, Size: sl.Size, Rows: sl.Rows})
	}
	for _, r := range cs.Replaced {
		part(r.Partition).replace(r.FileID, r.Instant)
	}
	for _, p := range s.partitions {
		p.finish()
	}
	s.finish()
	if err := s.resolveSchema(ctx, t, nil); err != nil {
		return nil
	}
	return s
}
