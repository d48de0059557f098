package sqltable

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// keepLike remembers for CREATE TABLE … LIKE what its plan does not carry of the original: the
// partition columns, the order of the key and the properties.
func (m *metaParser) keepLike(ctx context.Context, ddl *sqlparser.DDL) {
	c, ok := ctx.(*sql.Context)
	s := sessionOf(c)
	if !ok || s == nil || len(ddl.OptLike.LikeTables) != 1 {
		return
	}
	in := func(n sqlparser.TableName) string {
		if q := n.DbQualifier.String(); q != "" {
			return q
		}
		return c.GetCurrentDatabase()
	}
	like := ddl.OptLike.LikeTables[0]
	d, err := m.p.Database(c, in(like))
	if err != nil {
		return // binding the statement reports it
	}
	found, ok, err := d.GetTableInsensitive(c, like.Name.String())
	if err != nil || !ok {
		return
	}
	t := tableOf(found)
	if t == nil {
		return
	}
	text, err := json.Marshal(userProperties(t))
	if err != nil {
		return
	}
	s.keepOptions(in(ddl.Table), ddl.Table.Name.String(), map[string]any{
		optPartitionBy:   strings.Join(t.snap.Config().PartitionFields, ","),
		optPrimaryKey:    strings.Join(t.keys, ","),
		optTblProperties: string(text),
		optComment:       t.Comment(),
	})
}
