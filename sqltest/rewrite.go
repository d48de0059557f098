package sqltest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// rewritten puts blocks in place of those of the statements; nil if there are none.
func (s *Script) rewritten(blocks map[*Statement][]string) []byte {
	if len(blocks) == 0 {
		return nil
	}
	var out []string
	from := 0
	for _, step := range s.Steps {
		st, ok := step.(*Statement)
		if !ok || blocks[st] == nil {
			continue
		}
		block := blocks[st]
		if st.columnsLine >= 0 {
			out = append(out, s.lines[from:st.columnsLine]...)
			out = append(out, block[0])
			from = st.columnsLine + 1
		}
		out = append(out, s.lines[from:st.blockFrom]...)
		out = append(out, block[1:]...)
		from = st.block
		if st.block == st.blockFrom && from < len(s.lines) && s.lines[from] != "" {
			out = append(out, "") // a new block between two statements ends with a blank line
		}
	}
	out = append(out, s.lines[from:]...)
	return []byte(strings.Join(out, "\n"))
}

// newBlock is what would have to stand for the statement to give this outcome: the line of its
// columns directive (empty if it has none), then the block.
func (s *Statement) newBlock(o *outcome) []string {
	lines := []string{""}
	if s.columnsLine >= 0 {
		columns := o.columns
		if o.err != nil || columnsMatch(s.Columns, o.columns) {
			columns = s.Columns
		}
		lines[0] = "columns " + columnsLine(columns)
	}
	lines = append(lines, separator)
	if s.Expect != nil && s.Expect.Outcome == OK && o.err == nil {
		lines = append(lines, "ok")
	} else {
		lines = append(lines, o.block(s.Sorted)...)
	}
	if s.Warnings != nil {
		lines = append(lines, separator+" warnings")
		for _, w := range o.warnings {
			lines = append(lines, doubleDollars(w))
		}
	}
	return lines
}

// restored puts references back for the values of variables, the longest first, so that a path in
// the temporary directory becomes its file.
func (p *player) restored(lines []string) []string {
	type binding struct{ ref, value string }
	var bindings []binding
	for _, name := range slices.Sorted(maps.Keys(p.vars)) {
		if name != "DB" { // a word that may well stand for something else
			bindings = append(bindings, binding{name, p.vars[name]})
		}
	}
	for _, f := range p.files {
		path, err := p.value("", f)
		if err == nil {
			bindings = append(bindings, binding{"FILE(" + f + ")", path})
		}
	}
	slices.SortStableFunc(bindings, func(a, b binding) int { return cmp.Compare(len(b.value), len(a.value)) })
	for i := range lines {
		for _, b := range bindings {
			lines[i] = restore(lines[i], b.value, b.ref)
		}
	}
	return lines
}
