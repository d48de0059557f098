package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/dolthub/vitess/go/mysql"
)

// watchInterval is how often clients of running statements are looked after.
const watchInterval = 500 * time.Millisecond

// Causes of the end of a statement's context.
var (
	errClientGone = errors.New("the client closed the connection")
	errShutdown   = errors.New("the server is shutting down")
)

// errServerShutdown is what a statement gets that comes too late.
var errServerShutdown = mysql.NewSQLError(mysql.ERServerShutdown, mysql.SSServerShutdown, "Server shutdown in progress")

// clients are the open connections and what runs on them.
type clients struct {
	mu     sync.Mutex // guards all fields, and those of each client
	byID   map[uint32]*client
	closed bool          // no further statement is taken
	empty  chan struct{} // closed when closed and no client is left
	idle   chan struct{} // closed when closed and nothing runs
}

// client is one connection.
type client struct {
	id      uint32
	bare    net.Conn        // under TLS and the pipe
	socket  syscall.RawConn // of bare; nil if there is none to ask
	pipe    *pipe           // nil until the client is authenticated
	running map[*context.CancelCauseFunc]struct{}
}

func newClients() *clients {
	return &clients{byID: map[uint32]*client{}, empty: make(chan struct{}), idle: make(chan struct{})}
}

// add takes a connection into account; its net.Conn is still the bare one.
func (s *clients) add(c *mysql.Conn) {
	cl := &client{id: c.ConnectionID, bare: c.Conn, socket: socketOf(c.Conn), running: map[*context.CancelCauseFunc]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[cl.id] = cl
	if s.closed {
		closeQuietly(cl.bare)
	}
}

// socketOf finds the socket under the wrappers of a connection.
func socketOf(c net.Conn) syscall.RawConn {
	if l, ok := c.(*limitedConn); ok {
		c = l.Conn
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// authenticated notes the pipe of a connection.
func (s *clients) authenticated(id uint32, p *pipe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cl := s.byID[id]; cl != nil {
		cl.pipe = p
	}
}

// remove forgets a connection; what still runs on it is cancelled.
func (s *clients) remove(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cl := s.byID[id]
	if cl == nil {
		return
	}
	cl.cancel(errClientGone)
	delete(s.byID, id)
	s.signal()
}

// cancel ends what runs on a client. Callers hold mu.
func (c *client) cancel(cause error) {
	for cancel := range c.running {
		(*cancel)(cause)
	}
}

// count is the number of connections.
func (s *clients) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

// pipeOf is the pipe of a connection, or nil.
func (s *clients) pipeOf(id uint32) *pipe {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cl := s.byID[id]; cl != nil {
		return cl.pipe
	}
	return nil
}

// begin notes that a statement runs; its context ends when the client goes away. end must be
// called.
func (s *clients) begin(ctx context.Context, id uint32) (_ context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errServerShutdown
	}
	ctx, cancel := context.WithCancelCause(ctx)
	cl := s.byID[id]
	if cl == nil { // gone already
		cancel(errClientGone)
		return ctx, func() {}, nil
	}
	cl.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(cl.running, &cancel)
		s.signal()
	}, nil
}

// signal tells a waiting close how far it is. Callers hold mu.
func (s *clients) signal() {
	if !s.closed {
		return
	}
	busy := false
	for _, cl := range s.byID {
		busy = busy || len(cl.running) > 0
	}
	if !busy {
		closeOnce(s.idle)
	}
	if len(s.byID) == 0 {
		closeOnce(s.empty)
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// closing is whether no further statement is taken.
func (s *clients) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// close takes no further statements, wakes the clients that wait for their next command so that
// they are let go, and gives what runs grace to end, also to the answer on its way. Then it cancels.
func (s *clients) close(grace time.Duration) {
	s.mu.Lock()
	s.closed = true
	for _, cl := range s.byID {
		if len(cl.running) == 0 {
			// A reader that wakes finds closing() and ends the connection by itself.
			_ = cl.bare.SetReadDeadline(time.Unix(1, 0))
		}
	}
	s.signal()
	s.mu.Unlock()

	if s.wait(s.idle, grace) {
		// Answers are written after their statements ended.
		s.wait(s.empty, time.Second)
	}
	s.mu.Lock()
	for _, cl := range s.byID {
		cl.cancel(errShutdown)
	}
	s.mu.Unlock()
	if s.wait(s.idle, grace) && s.wait(s.empty, time.Second) {
		return
	}
	s.mu.Lock()
	for _, cl := range s.byID {
		closeQuietly(cl.bare)
	}
	s.mu.Unlock()
	s.wait(s.empty, time.Second)
}

// wait reports whether done was closed in time.
func (s *clients) wait(done chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// watch cancels the statements of clients that went away, until ctx is done.
func (s *clients) watch(ctx context.Context) {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		for _, cl := range s.byID {
			if len(cl.running) > 0 && cl.socket != nil && gone(cl.socket) {
				cl.cancel(errClientGone)
			}
		}
		s.mu.Unlock()
	}
}

// closeQuietly closes a connection that nobody talks on any more.
func closeQuietly(c net.Conn) { _ = c.Close() }
