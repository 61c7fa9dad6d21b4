package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/fault"
)

// fault codes what the server or the network answered; format says what was tried. The error of ctx itself, and an error
// that has a code, come back as they are.
func (s *Sink) fault(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e := (*fault.Error)(nil); errors.As(err, &e) {
		return err
	}
	what := fmt.Sprintf(format, args...)
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return fault.New(fault.PostgresUnavailable, "%s: no answer from %s", what, s.address()).Because(hide(err))
	}
	e := fault.New(codeOf(answer.Code), "%s: %s (SQLSTATE %s)", what, answer.Message, answer.Code)
	if facts := slices.DeleteFunc([]string{answer.Detail, answer.Where}, func(s string) bool { return s == "" }); len(facts) > 0 {
		e.WithDetail("%s", strings.Join(facts, "; "))
	}
	if answer.Hint != "" {
		e.WithHint("%s", answer.Hint)
	}
	return e
}

// hide drops the connection string that the library's error repeats; it cuts out the password, but keeps the rest of the
// address, which may have others.
func hide(err error) error {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && connect.Unwrap() != nil {
		return connect.Unwrap()
	}
	return err
}

// codeOf maps the class of a SQLSTATE, its first two characters, and some single ones.
func codeOf(state string) *fault.Code {
	switch state {
	case "42501":
		return fault.PostgresPermission
	case "3D000", "3F000", "42P01":
		return fault.PostgresTable
	case "42703", "42804":
		return fault.PostgresColumn
	case "55006", "55P03": // in use, locked
		return fault.PostgresUnavailable
	}
	switch class := state[:min(2, len(state))]; class {
	case "08", "53", "57", "58", "40", "25": // connection, resources, operator, system, rollback, transaction state
		return fault.PostgresUnavailable
	case "28":
		return fault.PostgresAuthentication
	case "22", "23", "P0", "44": // data, constraints, raised by a trigger, a view's check
		return fault.PostgresRefused
	}
	return fault.PostgresError
}

// address is where the database is, without anything secret.
func (s *Sink) address() string {
	c, err := s.opts.config()
	if err != nil {
		return "the database"
	}
	return fmt.Sprintf("%s:%d/%s", strings.TrimSpace(c.Host), c.Port, c.Database)
}
