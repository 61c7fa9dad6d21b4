package daemon

import (
	"context"
	"strconv"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/state"
	"sluice/syntax"
)

// asOf notes that a table is read as it was (D-27).
func (s *tableScope) asOf(handle string, t *syntax.TableName, info *state.TableInfo) *fault.Error {
	switch {
	case t.Version == nil && t.Timestamp == nil:
		return nil
	case s.quarantined(info.Name):
		return fault.New(fault.NoTimeTravel, "%s shows what is in quarantine now", info.Name).At(t.Pos).WithHint("leave AS OF out")
	}
	s.past[handle] = t
	return nil
}

// travel finds the versions of the tables that a query reads as they were, as the snapshot has them.
func (s *tableScope) travel(ctx context.Context, snapshot *state.Snapshot, engine *eval.Engine, zone string, now time.Time) error {
	var problems fault.List
	for handle, t := range s.past {
		version, err := versionOf(ctx, snapshot, s.read[handle], t, engine, zone, now)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			e := fault.From(err)
			if !e.Pos.IsValid() {
				e.At(t.Pos)
			}
			problems = append(problems, e)
		}
		s.versions[handle] = version
	}
	problems.Sort()
	return problems.Err()
}

// versionOf is the version of a table that AS OF names.
func versionOf(ctx context.Context, snapshot *state.Snapshot, table string, t *syntax.TableName, engine *eval.Engine, zone string, now time.Time) (int64, error) {
	if t.Version != nil {
		version, err := writtenVersion(t.Version)
		if err == nil {
			err = snapshot.HasVersion(table, version)
		}
		return version, err
	}
	at, err := momentOf(ctx, t.Timestamp, engine, zone, now)
	if err != nil {
		return 0, err
	}
	version, err := snapshot.VersionAt(table, at)
	if info, e := snapshot.Table(table); e == nil && err == nil && at.After(now) && version == info.Version {
		err = fault.New(fault.VersionNotFound, "what table %s is at %s is still to come", table, at.Format(time.RFC3339Nano)).At(t.Timestamp.Position()).
			WithHint("leave AS OF out for the table as it is")
	}
	return version, err
}

// writtenVersion is the number in VERSION AS OF, which may be written as a text.
func writtenVersion(e syntax.Expr) (int64, error) {
	if l, ok := e.(*syntax.Literal); ok && l.Suffix == "" && (l.Kind == syntax.IntegerLiteral || l.Kind == syntax.StringLiteral) {
		if version, err := strconv.ParseInt(l.Text, 10, 64); err == nil {
			return version, nil
		}
	}
	return 0, fault.New(fault.TimeTravelVersion, "%s is not the number of a version", syntax.PrintExpr(e)).At(e.Position()).
		WithHint("write a whole number; DESCRIBE HISTORY lists the versions that there are")
}

// momentOf is the time in TIMESTAMP AS OF, reckoned in the session's zone.
func momentOf(ctx context.Context, e syntax.Expr, engine *eval.Engine, zone string, now time.Time) (at time.Time, err error) {
	compiled, problems := dialect.Moment(e, dialect.Options{Zone: zone})
	if err := problems.Err(); err != nil {
		return at, err
	}
	rows, err := engine.Query(ctx, compiled, nil, now)
	if err != nil {
		return at, err
	}
	defer rows.Close()
	row, err := rows.Next()
	if err != nil {
		return at, err
	}
	if row.Cols[0].IsNull(0) {
		return at, fault.New(fault.TimeTravelTimestamp, "%s is no timestamp", syntax.PrintExpr(e)).At(e.Position()).
			WithHint("write one such as '2026-01-31 08:00:00', in the session's zone")
	}
	return time.UnixMicro(batch.Values[int64](&row.Cols[0])[0]).UTC(), nil
}
