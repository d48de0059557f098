package engine

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/predicate"
)

// keySet is a set of record keys, held as 128-bit hashes: 16 bytes a key at half load, whatever
// the key's length. The seeds are random in each process, so that two different keys share a hash
// with a probability of about n²/2¹²⁹ that nobody can raise by choosing keys.
type keySet struct {
	slots []keyHash // open addressing, power of two; the zero hash marks a free slot
	n     int
	min   []byte
	max   []byte
}

type keyHash [2]uint64

var keySeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashKey(key []byte) keyHash {
	h := keyHash{maphash.Bytes(keySeeds[0], key), maphash.Bytes(keySeeds[1], key)}
	if h == (keyHash{}) {
		h[0] = 1
	}
	return h
}

func newKeySet() *keySet { return &keySet{slots: make([]keyHash, 64)} }

// add puts a key in; false when it was there.
func (s *keySet) add(key []byte) bool {
	if 2*s.n >= len(s.slots) {
		old := s.slots
		s.slots = make([]keyHash, 2*len(old))
		for _, h := range old {
			if h != (keyHash{}) {
				s.slots[s.find(h)] = h
			}
		}
	}
	h := hashKey(key)
	i := s.find(h)
	if s.slots[i] == h {
		return false
	}
	s.slots[i] = h
	s.n++
	if s.n == 1 || bytes.Compare(key, s.min) < 0 {
		s.min = bytes.Clone(key)
	}
	if s.n == 1 || bytes.Compare(key, s.max) > 0 {
		s.max = bytes.Clone(key)
	}
	return true
}

// find returns the slot of a hash, or the free slot where it belongs.
func (s *keySet) find(h keyHash) int {
	mask := uint64(len(s.slots) - 1)
	for i := h[0] & mask; ; i = (i + 1) & mask {
		if s.slots[i] == h || s.slots[i] == (keyHash{}) {
			return int(i)
		}
	}
}

func (s *keySet) contains(key []byte) bool {
	h := hashKey(key)
	return s.slots[s.find(h)] == h
}

// dropExisting applies the duplicate policy to buffered rows whose keys the snapshot's files hold.
func (w *Write) dropExisting(ctx context.Context, partition string, batches []*column.Batch) ([]*column.Batch, error) {
	if w.gen == nil || w.gen.Keyless() || w.opts.duplicates == DuplicatesKeep {
		return batches, nil
	}
	k := w.snap.full.Index(column.MetaRecordKey)
	set := newKeySet()
	for _, b := range batches {
		for i := range b.Len {
			set.add(b.Cols[k].Bytes(i))
		}
	}
	hits := newKeySet()
	err := w.lookup(ctx, w.snap, w.scopeGroups(w.snap, partition, nil), set, func(key []byte) error {
		if w.opts.duplicates == DuplicatesFail {
			return &DuplicateKeyError{Table: w.t.name, Partition: partition, Key: string(key)}
		}
		hits.add(key)
		return nil
	})
	if err != nil || hits.n == 0 {
		return batches, err
	}
	out := batches[:0:0]
	for _, b := range batches {
		keep := make([]uint32, 0, b.Len)
		for i := range b.Len {
			if !hits.contains(b.Cols[k].Bytes(i)) {
				keep = append(keep, uint32(i))
			}
		}
		w.dropped += int64(b.Len - len(keep))
		w.countInserts(partition, -int64(b.Len-len(keep)))
		if len(keep) == b.Len {
			out = append(out, b)
		} else if len(keep) > 0 {
			out = append(out, gatherStaged(b, keep))
		}
	}
	return out, nil
}

// gatherStaged gathers rows of a staged batch, whose file name column is not set yet.
func gatherStaged(b *column.Batch, rows []uint32) *column.Batch {
	out := &column.Batch{Schema: b.Schema, Len: len(rows), Cols: make([]*column.Vector, len(b.Cols))}
	for i, c := range b.Cols {
		if c != nil {
			out.Cols[i] = column.Gather(c, rows)
		}
	}
	return out
}

// scopeGroups lists the file groups a key of the partition may be in, without those that known
// already has.
func (w *Write) scopeGroups(s *Snapshot, partition string, known *Snapshot) []*FileGroup {
	paths := []string{partition}
	if w.opts.globalIndex {
		paths = s.Partitions()
	}
	var out []*FileGroup
	for _, p := range paths {
		for _, g := range s.Groups(p) {
			if known != nil {
				if k := known.Group(p, g.FileID); k != nil && k.Latest().FileName == g.Latest().FileName {
					continue
				}
			}
			out = append(out, g)
		}
	}
	return out
}

// lookup calls found for each key of the set that the groups hold: by key range, then by bloom
// filter, then by reading the keys.
func (w *Write) lookup(ctx context.Context, s *Snapshot, groups []*FileGroup, set *keySet, found func(key []byte) error) error {
	if set.n == 0 || len(groups) == 0 {
		return nil
	}
	read, keysOf, err := w.storedKeys(s)
	if err != nil {
		return err
	}
	opts := ScanOptions{Columns: read}
	if w.opts.metaFields {
		str := func(b []byte) predicate.Value { return predicate.Value{Kind: column.String, B: b} }
		opts.Predicate = &predicate.Predicate{Op: predicate.And, Args: []*predicate.Predicate{
			{Op: predicate.Ge, Column: column.MetaRecordKey, Values: []predicate.Value{str(set.min)}},
			{Op: predicate.Le, Column: column.MetaRecordKey, Values: []predicate.Value{str(set.max)}},
		}}
	}
	sc, err := s.ScanGroups(ctx, groups, opts)
	if err != nil {
		return fmt.Errorf("look up record keys: %w", err)
	}
	defer sc.Close()
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("look up record keys: %w", err)
		}
		v, err := keysOf(b)
		if err != nil {
			return fmt.Errorf("look up record keys: %w", err)
		}
		for i := range b.Len {
			if key := v.Bytes(i); set.contains(key) {
				if err := found(key); err != nil {
					return err
				}
			}
		}
	}
}

// storedKeys says which columns hold the record keys of stored rows, and how to get them: the
// meta column, or the key columns of a table without meta fields.
func (w *Write) storedKeys(s *Snapshot) (columns []string, keysOf func(*column.Batch) (*column.Vector, error), err error) {
	if w.opts.metaFields {
		return []string{column.MetaRecordKey}, func(b *column.Batch) (*column.Vector, error) { return b.Cols[0], nil }, nil
	}
	cfg := keyConfig(s.config)
	cols := make([]string, len(cfg.RecordKey))
	for i, k := range cfg.RecordKey {
		j := s.Schema().IndexFold(k)
		if j < 0 {
			return nil, nil, &NameError{Kind: ErrNoSuchColumn, Name: k}
		}
		cols[i] = s.Schema().Fields[j].Name
	}
	sc, err := s.Schema().Select(cols)
	if err != nil {
		return nil, nil, err
	}
	cfg.Partition, cfg.Class = nil, ""
	gen, err := keygen.New(cfg, sc)
	if err != nil {
		return nil, nil, err
	}
	return cols, gen.RecordKeys, nil
}
