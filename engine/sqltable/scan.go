package sqltable

import (
	"io"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
)

// scanIter pulls the batches of a scan and hands out their rows one by one, so a LIMIT above it
// stops the scan: whoever has enough closes the iterator.
type scanIter struct {
	scan    *engine.Scan
	reader  *rowReader
	session *Session
	rows    []sql.Row // of the current batch, not handed out yet
	done    bool
}

// Next implements sql.RowIter.
func (s *scanIter) Next(ctx *sql.Context) (sql.Row, error) {
	for len(s.rows) == 0 {
		if s.done {
			return nil, io.EOF
		}
		b, err := s.scan.Next(ctx)
		if err != nil {
			s.finish(ctx)
			return nil, err
		}
		s.rows = s.reader.rows(b)
	}
	row := s.rows[0]
	s.rows = s.rows[1:]
	return row, nil
}

// Close implements sql.RowIter.
func (s *scanIter) Close(ctx *sql.Context) error {
	s.finish(ctx)
	s.rows = nil
	return nil
}

func (s *scanIter) finish(ctx *sql.Context) {
	if s.done {
		return
	}
	s.done = true
	s.scan.Close()
	s.session.addScan(ctx, s.scan.Stats())
}
