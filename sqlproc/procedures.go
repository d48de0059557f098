package sqlproc

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/shoaldb/shoal/engine"
)

// Type is the type of a parameter.
type Type uint8

// The types of parameters.
const (
	String Type = iota
	Int
	Bool
)

func (t Type) String() string { return [...]string{"STRING", "INT", "BOOL"}[t] }

// Param is a parameter of a procedure.
type Param struct {
	Name     string
	Type     Type
	Required bool
	Default  any // string, int64 or bool; nil: none
	Doc      string
}

// Procedure is one procedure.
type Procedure struct {
	Name   string // lower case
	Doc    string // one sentence
	Params []Param
	Result sql.Schema
	// ReadOnly procedures change no table.
	ReadOnly bool
	// Needs are the privileges that the caller needs on the table that the procedure works on, or
	// on its database when OnDatabase is true.
	Needs      []sql.PrivilegeType
	OnDatabase bool
	// Run does the work and returns the rows.
	Run func(ctx *sql.Context, c *Call) ([]sql.Row, error)
}

// Signature is how the procedure is called.
func (p *Procedure) Signature() string {
	var b strings.Builder
	b.WriteString(p.Name + "(")
	for i, q := range p.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", q.Name, q.Type)
		switch d := q.Default.(type) {
		case nil:
			if q.Required {
				b.WriteString(" required")
			}
		case string:
			b.WriteString(" = " + quoteString(d))
		default:
			fmt.Fprintf(&b, " = %v", d)
		}
	}
	b.WriteString(")")
	return b.String()
}

func (p *Procedure) param(name string) int {
	for i, q := range p.Params {
		if strings.EqualFold(q.Name, name) {
			return i
		}
	}
	return -1
}

// Procedures is the table of procedures over a warehouse. It is safe for concurrent use.
type Procedures struct {
	w          *engine.Warehouse
	clustering Clustering
	list       []*Procedure // in the order that help shows
	byName     map[string]*Procedure
	access     atomic.Value // of accessChecker
}

type accessChecker struct{ sql.PrivilegedOperationChecker }

// NewProcedures makes the procedures of a warehouse.
func NewProcedures(w *engine.Warehouse, c Clustering) *Procedures {
	p := &Procedures{w: w, clustering: c, byName: map[string]*Procedure{}}
	for _, group := range [][]*Procedure{p.clusteringProcedures(), p.tableProcedures(), p.importProcedures(), p.showProcedures(), p.helpProcedures()} {
		for _, proc := range group {
			p.list = append(p.list, proc)
			p.byName[proc.Name] = proc
		}
	}
	return p
}

// SetAccess makes calls ask c for privileges (I7): the MySQLDb of the SQL engine's catalog.
func (p *Procedures) SetAccess(c sql.PrivilegedOperationChecker) {
	p.access.Store(accessChecker{c})
}

// List returns the procedures.
func (p *Procedures) List() []*Procedure { return append([]*Procedure(nil), p.list...) }

func (p *Procedures) find(name string) *Procedure {
	if p == nil {
		return nil
	}
	return p.byName[strings.ToLower(name)]
}

// allow checks that the caller has the procedure's privileges on a table of a database.
func (p *Procedures) allow(ctx *sql.Context, proc *Procedure, database, table string) error {
	c, ok := p.access.Load().(accessChecker)
	if !ok {
		return nil
	}
	on := sql.PrivilegeCheckSubject{Database: database}
	name := database
	if !proc.OnDatabase {
		on.Table = table
		name += "." + table
	}
	for _, need := range proc.Needs {
		if !c.UserHasPrivileges(ctx, sql.NewPrivilegedOperation(on, need)) {
			who := ctx.Session.Client()
			return &AccessError{User: who.User, Host: who.Address, Procedure: proc.Name, Privilege: need.String(), On: name}
		}
	}
	return nil
}

func textColumn(name string) *sql.Column {
	return &sql.Column{Name: name, Type: types.LongText, Nullable: true}
}

func intColumn(name string) *sql.Column { return &sql.Column{Name: name, Type: types.Int32} }

func longColumn(name string) *sql.Column {
	return &sql.Column{Name: name, Type: types.Int64, Nullable: true}
}
