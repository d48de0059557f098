package column

// SizeBytes is the memory of a vector: its slices, children, and its dictionary, which other
// vectors may share. Of a Slice it counts the part it covers.
func SizeBytes(v *Vector) int64 {
	n := rowBytes(v)
	if v.Dict != nil {
		n += dictBytes(v.Dict)
	}
	for _, c := range v.Children {
		n += SizeBytes(c)
	}
	return n
}

// BatchesBytes is the memory of all batches, a shared dictionary counted once.
func BatchesBytes(bs []*Batch) int64 {
	seen := map[*Dictionary]bool{}
	var n int64
	var add func(v *Vector)
	add = func(v *Vector) {
		n += rowBytes(v)
		if v.Dict != nil && !seen[v.Dict] {
			seen[v.Dict] = true
			n += dictBytes(v.Dict)
		}
		for _, c := range v.Children {
			add(c)
		}
	}
	for _, b := range bs {
		for _, c := range b.Cols {
			add(c)
		}
	}
	return n
}

func dictBytes(d *Dictionary) int64 { return int64(4*len(d.Offsets) + len(d.Bytes)) }

func rowBytes(v *Vector) int64 {
	n := 8*len(v.Valid) + len(v.Bools) + 4*len(v.I32) + 8*len(v.I64) + 4*len(v.F32) + 8*len(v.F64) +
		16*len(v.Dec) + 4*len(v.Codes) + 4*len(v.Offsets)
	if k := len(v.Str.Offsets); k > 0 {
		n += 4*k + int(v.Str.Offsets[k-1]-v.Str.Offsets[0])
	}
	return int64(n)
}
