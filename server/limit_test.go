package server

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestMaxExecutionTimeEndsASelect(t *testing.T) {
	for name, tail := range map[string]string{"text": "?interpolateParams=true", "prepared": "", "multi": "?multiStatements=true"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			b := addBusy(s, "busy")
			db := s.open(tail)
			db.SetMaxOpenConns(1)
			exec(t, db, "SET SESSION max_execution_time = 50")
			fails(t, db, 3024, "HY000", "maximum statement execution time", "SELECT busy() + ?", 1)
			if err := receive(t, b.left, "the function stops"); !errors.Is(err, errQueryTimeout) {
				t.Errorf("ended by %v", err)
			}
			want(t, db, "1", "SELECT 1") // on the same connection
			exec(t, db, "SET SESSION max_execution_time = 0")
		})
	}
}

// A write is not ended by the bound of SELECTs, and a bound that is not reached changes nothing.
func TestMaxExecutionTimeIsForSelectsOnly(t *testing.T) {
	s := start(t, nil)
	b := addBusy(s, "busy")
	db := s.open("")
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (a BIGINT)")
	exec(t, db, "SET SESSION max_execution_time = 1")
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(context.Background(), "INSERT INTO d.t SELECT busy()")
		done <- err
	}()
	for len(b.entered) == 0 && len(done) == 0 {
		// The bound of a millisecond has passed before the second look.
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	close(b.release)
	if err := receive(t, done, "the INSERT ends"); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "SET SESSION max_execution_time = 3600000")
	want(t, db, "42", "SELECT a FROM d.t")
	fails(t, db, 1146, "42S02", "absent", "SELECT * FROM d.absent")
}
