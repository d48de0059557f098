package clustering

import (
	"log/slog"
	"time"
)

// Event is the begin or the end of a step of the service. Logs and listeners get the same.
type Event struct {
	Table   string // database.table
	Step    string // "schedule" or "execute"
	Ended   bool   // false: begins
	Instant string // of the plan; "" while there is none
	Reason  string // of a schedule: what was asked for; at its end, what was left out and why

	Groups      int // of the plan
	InputFiles  int
	InputBytes  int64
	Rows        int64 // of the input at the begin (-1 unknown), written at the end
	OutputFiles int
	OutputBytes int64
	Duration    time.Duration
	Err         error
}

// log writes the event; a failure is an error, everything else information.
func (e Event) log(l *slog.Logger) {
	attrs := []any{"table", e.Table}
	add := func(key string, v any, set bool) {
		if set {
			attrs = append(attrs, key, v)
		}
	}
	add("instant", e.Instant, e.Instant != "")
	add("reason", e.Reason, e.Reason != "")
	add("groups", e.Groups, e.Groups > 0)
	add("files", e.InputFiles, e.Groups > 0)
	add("bytes", e.InputBytes, e.Groups > 0)
	add("rows", e.Rows, e.Step == "execute" && e.Rows >= 0)
	add("output files", e.OutputFiles, e.OutputFiles > 0)
	add("output bytes", e.OutputBytes, e.OutputFiles > 0)
	add("duration", e.Duration, e.Ended)
	add("error", e.Err, e.Err != nil)
	msg := "clustering " + e.Step
	switch {
	case !e.Ended:
		l.Info(msg+" begins", attrs...)
	case e.Err != nil:
		l.Error(msg+" failed", attrs...)
	default:
		l.Info(msg+" ends", attrs...)
	}
}
