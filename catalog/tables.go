package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Table is a table of the warehouse.
type Table struct {
	// ID is the catalog's name of the table; the first PutTable gives it.
	ID             int64
	Database, Name string
	// Path is the absolute base path.
	Path string
	// Attached is true for a table that was attached by CALL attach_table or lies outside the
	// warehouse: its files are not ours to delete.
	Attached bool
}

// Databases lists the databases by name.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	var names []string
	err := c.view(ctx, "list databases", func(t *tx) error {
		return t.query(func(r *sql.Rows) error {
			var name string
			if err := r.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
			return nil
		}, "SELECT name FROM databases ORDER BY name")
	})
	return names, err
}

// PutDatabase adds a database; one that is there already is left as it is.
func (c *Catalog) PutDatabase(ctx context.Context, name string) error {
	return c.update(ctx, "put database "+name, func(t *tx) error {
		_, err := t.exec("INSERT INTO databases (name) VALUES (?) ON CONFLICT DO NOTHING", name)
		return err
	})
}

// DropDatabase forgets a database, its tables and all that is stored of them. An unknown name is
// not an error.
func (c *Catalog) DropDatabase(ctx context.Context, name string) error {
	return c.update(ctx, "drop database "+name, func(t *tx) error {
		_, err := t.exec("DELETE FROM databases WHERE name = ?", name)
		return err
	})
}

// Tables lists all tables by database and name.
func (c *Catalog) Tables(ctx context.Context) ([]Table, error) {
	var tables []Table
	err := c.view(ctx, "list tables", func(t *tx) error {
		return t.query(func(r *sql.Rows) error {
			var e Table
			if err := r.Scan(&e.ID, &e.Database, &e.Name, &e.Path, &e.Attached); err != nil {
				return err
			}
			tables = append(tables, e)
			return nil
		}, "SELECT id, database, name, path, attached FROM tables ORDER BY database, name")
	})
	return tables, err
}

// PutTable adds the table, or updates the one of the same database and name, and returns its id;
// Table.ID is not looked at. If the path changes, all that is stored of the table is forgotten,
// for it is another table now (I2). ErrNoDatabase if the database is not in the catalog.
func (c *Catalog) PutTable(ctx context.Context, e Table) (int64, error) {
	var id int64
	err := c.update(ctx, fmt.Sprintf("put table %s.%s", e.Database, e.Name), func(t *tx) error {
		var path string
		err := t.queryRow("SELECT id, path FROM tables WHERE database = ? AND name = ?",
			[]any{e.Database, e.Name}, []any{&id, &path})
		switch {
		case err == nil && path == e.Path:
			_, err = t.exec("UPDATE tables SET attached = ? WHERE id = ?", e.Attached, id)
			return err
		case err == nil:
			// A new id, too: whoever still works with the old path must not store under this one.
			if _, err := t.exec("DELETE FROM tables WHERE id = ?", id); err != nil {
				return err
			}
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		err = t.queryRow("INSERT INTO tables (database, name, path, attached) VALUES (?, ?, ?, ?) RETURNING id",
			[]any{e.Database, e.Name, e.Path, e.Attached}, []any{&id})
		if missingParent(err) {
			return ErrNoDatabase
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// DropTable forgets a table and all that is stored of it. An unknown id is not an error.
func (c *Catalog) DropTable(ctx context.Context, id int64) error {
	return c.update(ctx, fmt.Sprintf("drop table %d", id), func(t *tx) error {
		_, err := t.exec("DELETE FROM tables WHERE id = ?", id)
		return err
	})
}
