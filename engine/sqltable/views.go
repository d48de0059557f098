package sqltable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
)

// viewStore keeps the definitions of views in one small file beside the catalog, which other
// engines do not look at. It is read afresh for every use, so that processes agree.
type viewStore struct {
	path string
	mu   sync.Mutex
}

// A view is a stored definition.
type view struct {
	Name   string `json:"name"`
	Select string `json:"select"`
	Create string `json:"create"`
	Mode   string `json:"sql_mode"`
}

// views are the views by lower-case database and name.
type views map[string]map[string]view

func newViewStore(root string) *viewStore {
	return &viewStore{path: filepath.Join(root, ".shoal", "views.json")}
}

func (s *viewStore) load() (views, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return views{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read views: %w", err)
	}
	v := views{}
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("%w: views in %s: %w", engine.ErrMalformed, s.path, err)
	}
	return v, nil
}

// change edits the views of one database and replaces the file.
func (s *viewStore) change(database string, edit func(map[string]view) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load()
	if err != nil {
		return err
	}
	key := strings.ToLower(database)
	if all[key] == nil {
		all[key] = map[string]view{}
	}
	if err := edit(all[key]); err != nil {
		return err
	}
	if len(all[key]) == 0 {
		delete(all, key)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(s.path), "views-*.json")
	if err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	if err := os.Rename(tmp.Name(), s.path); err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	return nil
}

var _ sql.ViewDatabase = (*Database)(nil)

// CreateView implements sql.ViewDatabase.
func (d *Database) CreateView(ctx *sql.Context, name, selectStatement, createStatement string) error {
	names, err := d.GetTableNames(ctx)
	if err != nil {
		return err
	}
	for _, t := range names {
		if sameName(t, name) {
			return sql.ErrTableAlreadyExists.New(name)
		}
	}
	return d.p.views.change(d.name, func(v map[string]view) error {
		if _, ok := v[strings.ToLower(name)]; ok {
			return sql.ErrExistingView.New(d.name, name)
		}
		v[strings.ToLower(name)] = view{Name: name, Select: selectStatement, Create: createStatement, Mode: sql.LoadSqlMode(ctx).String()}
		return nil
	})
}

// DropView implements sql.ViewDatabase.
func (d *Database) DropView(_ *sql.Context, name string) error {
	return d.p.views.change(d.name, func(v map[string]view) error {
		if _, ok := v[strings.ToLower(name)]; !ok {
			return sql.ErrViewDoesNotExist.New(d.name, name)
		}
		delete(v, strings.ToLower(name))
		return nil
	})
}

// GetViewDefinition implements sql.ViewDatabase.
func (d *Database) GetViewDefinition(_ *sql.Context, name string) (sql.ViewDefinition, bool, error) {
	all, err := d.p.views.load()
	if err != nil {
		return sql.ViewDefinition{}, false, err
	}
	v, ok := all[strings.ToLower(d.name)][strings.ToLower(name)]
	return v.definition(), ok, nil
}

// AllViews implements sql.ViewDatabase.
func (d *Database) AllViews(*sql.Context) ([]sql.ViewDefinition, error) {
	all, err := d.p.views.load()
	if err != nil {
		return nil, err
	}
	var out []sql.ViewDefinition
	for _, v := range all[strings.ToLower(d.name)] {
		out = append(out, v.definition())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (v view) definition() sql.ViewDefinition {
	return sql.ViewDefinition{Name: v.Name, TextDefinition: v.Select, CreateViewStatement: v.Create, SqlMode: v.Mode}
}
