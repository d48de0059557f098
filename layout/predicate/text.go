package predicate

import (
	"bytes"
)

// textSet is the texts that satisfy a comparison with constants.
type textSet struct {
	op     Op
	b      []byte
	points map[string]struct{} // of In
}

func newTextSet(op Op, values []Value) textSet {
	if op != In {
		return textSet{op: op, b: values[0].B}
	}
	s := textSet{op: op, points: make(map[string]struct{}, len(values))}
	for _, v := range values {
		s.points[string(v.B)] = struct{}{}
	}
	return s
}

func (s *textSet) has(x []byte) bool {
	switch s.op {
	case In:
		_, ok := s.points[string(x)]
		return ok
	case Eq:
		return bytes.Equal(x, s.b)
	case Lt:
		return bytes.Compare(x, s.b) < 0
	case Le:
		return bytes.Compare(x, s.b) <= 0
	case Gt:
		return bytes.Compare(x, s.b) > 0
	case Ge:
		return bytes.Compare(x, s.b) >= 0
	case Prefix:
		return bytes.HasPrefix(x, s.b)
	}
	return false
}
