package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	vlog "github.com/dolthub/vitess/go/vt/log"
	"github.com/sirupsen/logrus"
)

var redirectOnce sync.Once

// RedirectLogs sends what the SQL engine and the wire library log, which is for the whole process,
// to a logger at level debug: what matters of it comes as errors, too.
func RedirectLogs(l *slog.Logger) {
	redirectOnce.Do(func() {
		debug := l.Enabled(context.Background(), slog.LevelDebug)
		logrus.SetOutput(io.Discard)
		logrus.SetLevel(logrus.PanicLevel)
		if debug {
			logrus.SetLevel(logrus.DebugLevel)
			logrus.AddHook(logHook{l})
		}
		print := func(args ...any) {
			if debug {
				l.Debug(strings.TrimSpace(fmt.Sprint(args...)), "from", "wire")
			}
		}
		printf := func(format string, args ...any) {
			if debug {
				l.Debug(strings.TrimSpace(fmt.Sprintf(format, args...)), "from", "wire")
			}
		}
		vlog.Info, vlog.Warning, vlog.Error = print, print, print
		vlog.Infof, vlog.Warningf, vlog.Errorf = printf, printf, printf
	})
}

// logHook hands logrus entries on.
type logHook struct{ log *slog.Logger }

// Levels implements logrus.Hook.
func (h logHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (h logHook) Fire(e *logrus.Entry) error {
	args := []any{"from", "sql"}
	for k, v := range e.Data {
		args = append(args, k, v)
	}
	h.log.Debug(e.Message, args...)
	return nil
}
