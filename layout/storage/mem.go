package storage

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"sort"
	"strings"
	"sync"
	"time"
)

// Mem is a tree of files in memory, for tests. It behaves as Local does, without durability.
type Mem struct {
	mu    sync.Mutex // guards what follows
	nodes map[string]*memNode
	locks map[string]chan struct{} // path → closed when the holder unlocks
}

type memNode struct {
	data []byte // never changed once the node is in the tree
	dir  bool
	mod  time.Time
}

var _ Storage = (*Mem)(nil)

// NewMem makes an empty tree.
func NewMem() *Mem {
	return &Mem{
		nodes: map[string]*memNode{".": {dir: true, mod: time.Now()}},
		locks: map[string]chan struct{}{},
	}
}

// URI implements Storage.
func (m *Mem) URI(p string) string {
	return (&url.URL{Scheme: "mem", Path: path.Clean("/" + p)}).String()
}

type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

// Open implements Storage.
func (m *Mem) Open(ctx context.Context, p string) (File, error) {
	n, err := m.file(ctx, "open", p)
	if err != nil {
		return nil, err
	}
	return memFile{bytes.NewReader(n.data)}, nil
}

// ReadFile implements Storage.
func (m *Mem) ReadFile(ctx context.Context, p string) ([]byte, error) {
	n, err := m.file(ctx, "read", p)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, n.data...), nil
}

// Stat implements Storage.
func (m *Mem) Stat(ctx context.Context, p string) (FileInfo, error) {
	c, err := m.begin(ctx, "stat", p)
	if err != nil {
		return FileInfo{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.nodes[c]
	if !ok {
		return FileInfo{}, pathError("stat", p, fs.ErrNotExist)
	}
	return n.info(path.Base(c)), nil
}

// List implements Storage.
func (m *Mem) List(ctx context.Context, dir string) ([]FileInfo, error) {
	c, err := m.begin(ctx, "list", dir)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.nodes[c]
	if !ok {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	if !n.dir {
		return nil, pathError("list", dir, ErrNotDirectory)
	}
	out := []FileInfo{}
	for p, n := range m.nodes {
		if p != "." && path.Dir(p) == c {
			out = append(out, n.info(path.Base(p)))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (n *memNode) info(name string) FileInfo {
	return FileInfo{Name: name, Size: int64(len(n.data)), ModTime: n.mod, IsDir: n.dir}
}

type memWriter struct {
	m    *Mem
	path string
	buf  bytes.Buffer
	done bool
}

func (w *memWriter) Write(b []byte) (int, error) {
	if w.done {
		return 0, pathError("write", w.path, ErrDone)
	}
	return w.buf.Write(b)
}

func (w *memWriter) Commit() error {
	if w.done {
		return pathError("create", w.path, ErrDone)
	}
	w.done = true
	return w.m.put(context.Background(), w.path, w.buf.Bytes(), false)
}

func (w *memWriter) Abort() error { w.done = true; return nil }

// Create implements Storage.
func (m *Mem) Create(ctx context.Context, p string) (Writer, error) {
	c, err := m.begin(ctx, "create", p)
	if err != nil {
		return nil, err
	}
	if _, err := cleanFile("create", p); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mkdirAll(path.Dir(c)); err != nil {
		return nil, pathError("create", p, err)
	}
	return &memWriter{m: m, path: p}, nil
}

// CreateExclusive implements Storage.
func (m *Mem) CreateExclusive(ctx context.Context, p string, data []byte) error {
	return m.put(ctx, p, data, false)
}

// Replace implements Storage.
func (m *Mem) Replace(ctx context.Context, p string, data []byte) error {
	return m.put(ctx, p, data, true)
}

func (m *Mem) put(ctx context.Context, p string, data []byte, replace bool) error {
	if err := ctx.Err(); err != nil {
		return pathError("create", p, err)
	}
	c, err := cleanFile("create", p)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mkdirAll(path.Dir(c)); err != nil {
		return pathError("create", p, err)
	}
	if n, ok := m.nodes[c]; ok && (n.dir || !replace) {
		return pathError("create", p, fs.ErrExist)
	}
	m.nodes[c] = &memNode{data: append([]byte{}, data...), mod: time.Now()}
	return nil
}

// MkdirAll implements Storage.
func (m *Mem) MkdirAll(ctx context.Context, dir string) error {
	c, err := m.begin(ctx, "mkdir", dir)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return pathError("mkdir", dir, m.mkdirAll(c))
}

func (m *Mem) mkdirAll(c string) error {
	if n, ok := m.nodes[c]; ok {
		if !n.dir {
			return ErrNotDirectory
		}
		return nil
	}
	if err := m.mkdirAll(path.Dir(c)); err != nil {
		return err
	}
	m.nodes[c] = &memNode{dir: true, mod: time.Now()}
	return nil
}

// Remove implements Storage.
func (m *Mem) Remove(ctx context.Context, p string) error {
	c, err := m.begin(ctx, "remove", p)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for q := range m.nodes {
		if q != "." && path.Dir(q) == c {
			return pathError("remove", p, fmt.Errorf("directory not empty: it holds %s", path.Base(q)))
		}
	}
	if c != "." {
		delete(m.nodes, c)
	}
	return nil
}

// RemoveAll implements Storage.
func (m *Mem) RemoveAll(ctx context.Context, p string) error {
	c, err := m.begin(ctx, "remove", p)
	if err != nil {
		return err
	}
	if c == "." {
		return pathError("remove", p, fmt.Errorf("%w: the root itself stays", fs.ErrInvalid))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for q := range m.nodes {
		if q == c || strings.HasPrefix(q, c+"/") {
			delete(m.nodes, q)
		}
	}
	return nil
}

// Lock implements Storage.
func (m *Mem) Lock(ctx context.Context, p string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, pathError("lock", p, err)
	}
	c, err := cleanFile("lock", p)
	if err != nil {
		return nil, err
	}
	for {
		m.mu.Lock()
		if n, ok := m.nodes[c]; ok && n.dir {
			m.mu.Unlock()
			return nil, pathError("lock", p, ErrNotFile)
		} else if !ok {
			if err := m.mkdirAll(path.Dir(c)); err != nil {
				m.mu.Unlock()
				return nil, pathError("lock", p, err)
			}
			m.nodes[c] = &memNode{mod: time.Now()}
		}
		held, taken := m.locks[c]
		if !taken {
			defer m.mu.Unlock()
			return m.hold(c), nil
		}
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, pathError("lock", p, ctx.Err())
		case <-held:
		}
	}
}

// TryLock implements Storage.
func (m *Mem) TryLock(ctx context.Context, p string) (unlock func(), ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, pathError("lock", p, err)
	}
	c, err := cleanFile("lock", p)
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, exists := m.nodes[c]
	switch {
	case !exists:
		return nil, false, pathError("lock", p, fs.ErrNotExist)
	case n.dir:
		return nil, false, pathError("lock", p, ErrNotFile)
	}
	if _, taken := m.locks[c]; taken {
		return nil, false, nil
	}
	return m.hold(c), true, nil
}

func (m *Mem) hold(c string) func() {
	gone := make(chan struct{})
	m.locks[c] = gone
	var once sync.Once
	return func() {
		once.Do(func() {
			m.mu.Lock()
			delete(m.locks, c)
			m.mu.Unlock()
			close(gone)
		})
	}
}

func (m *Mem) begin(ctx context.Context, op, p string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", pathError(op, p, err)
	}
	return clean(op, p)
}

// file returns the node of a regular file.
func (m *Mem) file(ctx context.Context, op, p string) (*memNode, error) {
	c, err := m.begin(ctx, op, p)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.nodes[c]
	if !ok {
		return nil, pathError(op, p, fs.ErrNotExist)
	}
	if n.dir {
		return nil, pathError(op, p, ErrNotFile)
	}
	return n, nil
}
