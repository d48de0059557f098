package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Plan is a clustering plan and how far it has come.
type Plan struct {
	Instant string
	// State is requested, inflight, completed, failed or cancelled.
	State string
	// Strategy is the name of the plan strategy, Order how the output is sorted, as shown to people.
	Strategy, Order            string
	Groups, GroupsDone         int
	InputFiles                 int
	InputBytes                 int64
	RowsIn, RowsDone           int64
	OutputFiles                int64
	OutputBytes                int64
	Owner                      string    // who executes it: host and process
	Error                      string    // why it failed
	Reason                     string    // why it was planned, or cancelled
	Started, Updated, Finished time.Time // UTC, whole microseconds; the zero Time if not (yet)
}

// PutPlan stores a plan in place of the one of the same instant.
func (c *Catalog) PutPlan(ctx context.Context, table int64, p Plan) error {
	return c.update(ctx, fmt.Sprintf("put plan %s of table %d", p.Instant, table), func(t *tx) error {
		_, err := t.exec(`INSERT OR REPLACE INTO plans (table_id, instant, state, strategy, ordering, groups_total, groups_done,
	input_files, input_bytes, rows_in, rows_done, output_files, output_bytes, owner, error, reason, started, updated, finished)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			table, p.Instant, p.State, p.Strategy, p.Order, p.Groups, p.GroupsDone,
			p.InputFiles, p.InputBytes, p.RowsIn, p.RowsDone, p.OutputFiles, p.OutputBytes, p.Owner, p.Error, p.Reason,
			micros(p.Started), micros(p.Updated), micros(p.Finished))
		if missingParent(err) {
			return ErrNoTable
		}
		return err
	})
}

// Plans lists the plans of a table, newest first.
func (c *Catalog) Plans(ctx context.Context, table int64) ([]Plan, error) {
	var plans []Plan
	err := c.view(ctx, fmt.Sprintf("list plans of table %d", table), func(t *tx) error {
		return t.query(func(r *sql.Rows) error {
			var p Plan
			var started, updated, finished sql.NullInt64
			if err := r.Scan(&p.Instant, &p.State, &p.Strategy, &p.Order, &p.Groups, &p.GroupsDone,
				&p.InputFiles, &p.InputBytes, &p.RowsIn, &p.RowsDone, &p.OutputFiles, &p.OutputBytes,
				&p.Owner, &p.Error, &p.Reason, &started, &updated, &finished); err != nil {
				return err
			}
			p.Started, p.Updated, p.Finished = fromMicros(started), fromMicros(updated), fromMicros(finished)
			plans = append(plans, p)
			return nil
		}, `SELECT instant, state, strategy, ordering, groups_total, groups_done, input_files, input_bytes, rows_in, rows_done,
	output_files, output_bytes, owner, error, reason, started, updated, finished
FROM plans WHERE table_id = ? ORDER BY instant DESC`, table)
	})
	return plans, err
}

func micros(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: true}
}

func fromMicros(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMicro(v.Int64).UTC()
}
