package timeline

import (
	"strings"
)

// Dir is the folder of a table that holds the timeline.
const Dir = ".hoodie"

// Action is what an instant does to the table (docs/format.md: timeline).
type Action string

// The actions of timeline layout 1.
const (
	Commit        Action = "commit"
	DeltaCommit   Action = "deltacommit"
	ReplaceCommit Action = "replacecommit"
	Clean         Action = "clean"
	Rollback      Action = "rollback"
	Savepoint     Action = "savepoint"
	Restore       Action = "restore"
	Compaction    Action = "compaction"
	LogCompaction Action = "logcompaction"
	Indexing      Action = "indexing"
)

// Clustering is the action of a clustering that is pending in timeline layout 2. It completes as
// a ReplaceCommit, which it is from the beginning in layout 1.
const Clustering Action = "clustering"

// completed is the action under which an action completes.
func (a Action) completed() Action {
	switch a {
	case Compaction:
		return Commit
	case LogCompaction:
		return DeltaCommit
	case Clustering:
		return ReplaceCommit
	}
	return a
}

func (a Action) known() bool {
	switch a {
	case Commit, DeltaCommit, ReplaceCommit, Clean, Rollback, Savepoint, Restore, Compaction, LogCompaction, Indexing:
		return true
	}
	return false
}

// State is how far an instant has come.
type State uint8

// The states in their order.
const (
	Requested State = iota
	Inflight
	Completed
)

// String is the state as Hudi spells it: REQUESTED, INFLIGHT, COMPLETED.
func (s State) String() string {
	switch s {
	case Requested:
		return "REQUESTED"
	case Inflight:
		return "INFLIGHT"
	case Completed:
		return "COMPLETED"
	}
	return "INVALID"
}

// ParseState is the inverse of State.String.
func ParseState(s string) (State, bool) {
	for _, st := range []State{Requested, Inflight, Completed} {
		if s == st.String() {
			return st, true
		}
	}
	return 0, false
}

// Instant is one action on the timeline. Its identity is (Time, Action); State is how far it had
// come when the timeline was listed. A completed compaction has the action Commit, a completed
// log compaction DeltaCommit, a completed clustering ReplaceCommit, as their files say.
type Instant struct {
	Time   string // 17 digits, yyyyMMddHHmmssSSS; 14 without milliseconds in old tables
	Action Action
	State  State
	// CompletionTime is when the instant completed, in the form of Time. It is known of completed
	// instants of layout 2, and "" otherwise; see CompletedAt.
	CompletionTime string
}

// FileName is the name of the file, in the folder of the timeline, that puts the instant into its
// state.
func (i Instant) FileName() string {
	switch i.State {
	case Requested:
		return i.Time + "." + string(i.Action) + ".requested"
	case Inflight:
		if i.Action == Commit { // the one state file that does not name its action
			return i.Time + ".inflight"
		}
		return i.Time + "." + string(i.Action) + ".inflight"
	}
	if i.CompletionTime != "" {
		return i.Time + "_" + i.CompletionTime + "." + string(i.Action.completed())
	}
	return i.Time + "." + string(i.Action.completed())
}

// String is for messages: time, action and state.
func (i Instant) String() string {
	return i.Time + " " + string(i.Action) + " " + i.State.String()
}

// ParseFileName reads the name of a state file of layout 1. It is false for every other name in
// Dir.
func ParseFileName(name string) (Instant, bool) {
	time, rest, ok := strings.Cut(name, ".")
	if !ok || !isTime(time) {
		return Instant{}, false
	}
	action, suffix, hasSuffix := strings.Cut(rest, ".")
	in := Instant{Time: time, Action: Action(action)}
	switch {
	case rest == "inflight":
		in.Action, in.State = Commit, Inflight
	case !hasSuffix:
		in.State = Completed
	case suffix == "inflight":
		in.State = Inflight
	case suffix == "requested":
		in.State = Requested
	default:
		return Instant{}, false
	}
	// Each valid name has one reading; this leaves out unknown actions and combinations that do
	// not exist, such as T.commit.inflight, T.compaction and T.savepoint.requested.
	if !in.Action.known() || in.FileName() != name || in.Action == Savepoint && in.State == Requested {
		return Instant{}, false
	}
	return in, true
}

// isTime reports whether s has the form of an instant time.
func isTime(s string) bool {
	if len(s) != 14 && len(s) != 17 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
