package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

// identity reads what the database remembers of the flow, and locks it when asked.
func (s *Sink) identity(ctx context.Context, c *pgx.Conn, lock bool) (i sink.Identity, found bool, err error) {
	sql := fmt.Sprintf("SELECT store, epoch, generation, number FROM %s WHERE pipeline = $1 AND flow = $2", s.table.batches)
	if lock {
		sql += " FOR UPDATE"
	}
	var epoch, generation, number int64
	err = c.QueryRow(ctx, sql, s.config.Pipeline, s.config.Flow).Scan(&i.Store, &epoch, &generation, &number)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, false, nil
	}
	i.Epoch, i.Generation, i.Number = uint64(epoch), uint64(generation), uint64(number)
	return i, err == nil, err
}

// admit decides whether a batch may be written next to what the database remembers.
func (s *Sink) admit(have sink.Identity, found bool, id batch.ID) error {
	target := "table " + s.table.name
	switch {
	case found:
		if err := have.Admit(target, id, s.wrote); err != nil {
			return err
		}
		return have.Follows(target, id)
	case id.Number > 0:
		return sink.IdentityLost(target, id)
	}
	return nil
}

// remember writes the identity in the batch's transaction. Where there was none, a second run that also writes its first
// batch is refused by the primary key, and finds the row at its next attempt.
func (s *Sink) remember(ctx context.Context, tx pgx.Tx, found bool, i sink.Identity) error {
	sql := "INSERT INTO %s (pipeline, flow, store, epoch, generation, number, written) VALUES ($1, $2, $3, $4, $5, $6, now())"
	if found {
		sql = "UPDATE %s SET store = $3, epoch = $4, generation = $5, number = $6, written = now() WHERE pipeline = $1 AND flow = $2"
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(sql, s.table.batches), s.config.Pipeline, s.config.Flow, i.Store, int64(i.Epoch), int64(i.Generation), int64(i.Number))
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == "23505" {
		return fault.New(fault.PostgresUnavailable, "another run of flow %s has just written its first batch to %s", s.config.Flow, s.table.name)
	}
	return err
}

// Remembered implements sink.Keeper. A table that is not there yet, that of the sink or that of identities, remembers nothing
// where the first start would make it.
func (s *Sink) Remembered(ctx context.Context, _ batch.ID) (m sink.Memory, err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return m, err
	}
	defer c.Close(ctx)
	probe := *s
	probe.opts.create = false
	if probe.table, err = probe.describe(ctx, c); err != nil {
		if s.opts.create && fault.Of(err, fault.PostgresTable) {
			err = nil
		}
		return m, err
	}
	m.Where = "table " + probe.table.batches
	var exists bool
	if err = c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", probe.table.batches).Scan(&exists); err == nil && exists {
		m.Identity, m.Found, err = probe.identity(ctx, c, false)
	}
	return m, s.fault(ctx, err, "reading %s", probe.table.batches)
}

// Adopt implements sink.Keeper.
func (s *Sink) Adopt(ctx context.Context, last batch.ID, ok bool) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE pipeline = $1 AND flow = $2", s.table.batches), s.config.Pipeline, s.config.Flow)
		if err != nil || !ok {
			return err
		}
		return s.remember(ctx, tx, false, sink.IdentityOf(last))
	})
	return s.fault(ctx, err, "adopting %s", s.table.name)
}

var _ sink.Keeper = (*Sink)(nil)
