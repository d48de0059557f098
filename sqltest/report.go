package sqltest

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Mode is how statements reach the server.
type Mode uint8

// The modes.
const (
	Text     Mode = iota // COM_QUERY
	Prepared             // COM_STMT_PREPARE and COM_STMT_EXECUTE, except for statements that cannot
)

func (m Mode) String() string {
	if m == Prepared {
		return "prepared"
	}
	return "text"
}

// Result is what became of one step of a script.
type Result struct {
	Mode Mode
	Line int
	// Text is the statement with variables replaced; empty for steps that are none.
	Text string
	// Failure says how the outcome differs from what the script says; "" if it does not.
	Failure string
	// AsText says that in prepared mode the server, or the script, wanted the statement as text.
	AsText   bool
	Duration time.Duration
}

// Report is what became of a script.
type Report struct {
	Script  string
	Results []Result
	// Rewritten is the script with the blocks that the server gave, if Options.Rewrite was set
	// and something differs; else nil.
	Rewritten []byte
}

// Failed reports whether any step failed.
func (r *Report) Failed() bool {
	for i := range r.Results {
		if r.Results[i].Failure != "" {
			return true
		}
	}
	return false
}

// Count returns the number of steps played in a mode and how many of them failed.
func (r *Report) Count(m Mode) (played, failed int) {
	for i := range r.Results {
		if r.Results[i].Mode != m {
			continue
		}
		played++
		if r.Results[i].Failure != "" {
			failed++
		}
	}
	return played, failed
}

// WriteFailures prints each failed step: place, statement, difference.
func (r *Report) WriteFailures(w io.Writer) error {
	var b strings.Builder
	for _, res := range r.Results {
		if res.Failure == "" {
			continue
		}
		fmt.Fprintf(&b, "%s:%d: failed (%s)\n", r.Script, res.Line, res.Mode)
		if res.Text != "" {
			fmt.Fprintf(&b, "%s\n", indent(res.Text))
		}
		fmt.Fprintf(&b, "%s\n", indent(res.Failure))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
