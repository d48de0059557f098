package sqlproc

import (
	"context"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
)

// Clustering is what the clustering procedures call; clustering.Service is one.
type Clustering interface {
	Run(ctx context.Context, t *engine.Table, r clustering.Request, progress func(clustering.Progress)) (*clustering.Result, error)
	Show(ctx context.Context, t *engine.Table, limit int) ([]clustering.Listing, error)
	Cancel(ctx context.Context, t *engine.Table, instant string) error
}

var _ Clustering = (*clustering.Service)(nil)

func (p *Procedures) clusteringProcedures() []*Procedure {
	if p.clustering == nil {
		return nil
	}
	partitions := Param{Name: "show_involved_partition", Type: Bool, Default: false, Doc: "list the partitions instead of *"}
	result := sql.Schema{textColumn("timestamp"), intColumn("input_group_size"), textColumn("state"), textColumn("involved_partitions")}
	return []*Procedure{{
		Name: "run_clustering", Doc: "Rewrites small files of a table into large sorted ones: makes a plan, executes plans, or both.",
		Params: []Param{
			paramTable, paramPath,
			{Name: "predicate", Type: String, Doc: "SQL condition over partition columns"},
			{Name: "order", Type: String, Doc: "comma list of columns to sort by"},
			partitions,
			{Name: "op", Type: String, Doc: "schedule, execute or scheduleAndExecute"},
			{Name: "order_strategy", Type: String, Doc: "linear"},
			{Name: "options", Type: String, Doc: "k1=v1,k2=v2: hoodie.clustering.* options"},
			{Name: "instants", Type: String, Doc: "comma list of pending plans to execute"},
			{Name: "selected_partitions", Type: String, Doc: "comma list of partition paths; predicate wins"},
			{Name: "limit", Type: Int, Doc: "how many pending plans to execute at most"},
		},
		Result: result,
		// Those of OPTIMIZE TABLE.
		Needs: []sql.PrivilegeType{sql.PrivilegeType_Select, sql.PrivilegeType_Insert},
		Run:   p.runClustering,
	}, {
		Name: "show_clustering", Doc: "Lists the clusterings of a table in any state, newest first.",
		Params: []Param{paramTable, paramPath, {Name: "limit", Type: Int, Default: int64(20), Doc: "0: all"}, partitions},
		Result: result, ReadOnly: true, Needs: []sql.PrivilegeType{sql.PrivilegeType_Select},
		Run: p.showClustering,
	}, {
		Name: "cancel_clustering", Doc: "Drops a pending clustering plan that nobody executes, which frees its files for another.",
		Params: []Param{paramTable, paramPath, {Name: "instant", Type: String, Required: true, Doc: "of the plan, as show_clustering lists it"}},
		Result: sql.Schema{textColumn("timestamp"), textColumn("state")},
		Needs:  []sql.PrivilegeType{sql.PrivilegeType_Select, sql.PrivilegeType_Insert},
		Run:    p.cancelClustering,
	}}
}

func (p *Procedures) cancelClustering(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	instant := strings.TrimSpace(c.String("instant"))
	if err := p.clustering.Cancel(ctx, t, instant); err != nil {
		return nil, err
	}
	return []sql.Row{{instant, "CANCELLED"}}, nil
}

func (p *Procedures) runClustering(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	r := clustering.Request{
		OrderBy:            c.list("order"),
		OrderStrategy:      strings.TrimSpace(c.String("order_strategy")),
		SelectedPartitions: c.list("selected_partitions"),
		Instants:           c.list("instants"),
		Limit:              limit,
	}
	if r.Op, err = clustering.ParseOp(c.String("op")); err != nil {
		return nil, err
	}
	if r.Options, err = c.options(ctx); err != nil {
		return nil, err
	}
	if text := c.String("predicate"); strings.TrimSpace(text) != "" {
		if r.Predicate, err = sqltable.ParsePredicate(ctx, t, text); err != nil {
			return nil, err
		}
	}
	shown := clusteringProgress{ctx: ctx, table: t.Name()}
	res, err := p.clustering.Run(ctx, t, r, shown.set)
	shown.end()
	if err != nil {
		return nil, err
	}
	for _, n := range res.Notes {
		note(ctx, n)
	}
	return listingRows(res.Rows, c.Bool("show_involved_partition")), nil
}

func (p *Procedures) showClustering(ctx *sql.Context, c *Call) ([]sql.Row, error) {
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.clustering.Show(ctx, t, limit)
	if err != nil {
		return nil, err
	}
	return listingRows(list, c.Bool("show_involved_partition")), nil
}

func listingRows(list []clustering.Listing, partitions bool) []sql.Row {
	var rows []sql.Row
	for _, l := range list {
		involved := "*"
		if partitions {
			involved = strings.Join(l.Partitions, ",")
		}
		rows = append(rows, sql.Row{l.Instant, int32(l.InputGroups), l.State, involved})
	}
	return rows
}

// clusteringProgress takes the reports of the executions' goroutines. After end they are ignored.
type clusteringProgress struct {
	ctx   *sql.Context
	table string

	mu      sync.Mutex
	instant string    // being executed
	p       *progress // of it; nil before the first
	ended   bool
}

func (s *clusteringProgress) set(at clustering.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.p == nil || s.instant != at.Instant {
		if s.p != nil {
			s.p.end()
		}
		s.instant, s.p = at.Instant, newProgress(s.ctx, "clustering "+s.table+" "+at.Instant)
	}
	s.p.set(int64(at.GroupsDone), int64(at.Groups))
}

func (s *clusteringProgress) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.p != nil {
		s.p.end()
	}
}
