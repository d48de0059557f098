package sqltest

import "strings"

// maxDiffCells bounds the table of the exact comparison; larger inputs are shown one after the other.
const maxDiffCells = 4 << 20

// lineDiff shows how got differs from want: "-" before lines that were expected and did not come,
// "+" before lines that came instead. Long runs of equal lines are left out.
func lineDiff(want, got []string) string {
	var ops []string
	if len(want)*len(got) > maxDiffCells {
		for _, l := range want {
			ops = append(ops, "- "+l)
		}
		for _, l := range got {
			ops = append(ops, "+ "+l)
		}
		return strings.Join(ops, "\n")
	}
	// common[i][j] is the length of the longest common subsequence of want[i:] and got[j:].
	common := make([][]int32, len(want)+1)
	for i := range common {
		common[i] = make([]int32, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			ops = append(ops, "  "+want[i])
			i++
			j++
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			ops = append(ops, "- "+want[i])
			i++
		default:
			ops = append(ops, "+ "+got[j])
			j++
		}
	}
	return strings.Join(shorten(ops), "\n")
}

// shorten leaves out the inside of runs of equal lines.
func shorten(ops []string) []string {
	const around = 3
	var out []string
	for i := 0; i < len(ops); {
		end := i
		for end < len(ops) && strings.HasPrefix(ops[end], "  ") {
			end++
		}
		switch {
		case end == i:
			out = append(out, ops[i])
			end++
		case end-i > 2*around+1:
			out = append(out, ops[i:i+around]...)
			out = append(out, "  …")
			out = append(out, ops[end-around:end]...)
		default:
			out = append(out, ops[i:end]...)
		}
		i = end
	}
	return out
}
