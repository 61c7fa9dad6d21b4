package admin

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"sluice/eventlog"
	"sluice/fault"
)

// Events is the answer of /api/events. Next is the value of after that goes on behind these events; it is the one that
// was asked with when there are none. More says that there are others behind them, Older how many were left out before them.
type Events struct {
	Events []eventlog.Record `json:"events"`
	Next   uint64            `json:"next"`
	More   bool              `json:"more,omitempty"`
	Older  int               `json:"older,omitempty"`
}

// EventQuery chooses events of Level or above whose sequence is above After: the first Limit of them, or with Newest the
// last. Either way they come in order.
type EventQuery struct {
	After  uint64
	Limit  int
	Level  eventlog.Level
	Newest bool
}

const (
	defaultEvents = 100
	maxEvents     = 10_000
)

// weight orders levels: METRICS is the least, since it is for high volume.
var weight = map[eventlog.Level]int{eventlog.Metrics: 0, eventlog.Info: 1, eventlog.Warn: 2, eventlog.Error: 3}

// Level reads the name of a level in any case.
func Level(text string) (eventlog.Level, error) {
	level := eventlog.Level(strings.ToUpper(text))
	if _, known := weight[level]; !known {
		return "", fault.New(fault.BadRequest, "%q is not a level", text).WithHint("levels are METRICS, INFO, WARN and ERROR")
	}
	return level, nil
}

// Select reads a log with read, which is as Config.Events.
func (q EventQuery) Select(ctx context.Context, read func(context.Context, uint64, func(eventlog.Record) bool) error) (Events, error) {
	out := Events{Events: []eventlog.Record{}, Next: q.After}
	matching := 0 // with Newest, Events is a ring: that of number n stands at n % Limit
	err := read(ctx, q.After, func(e eventlog.Record) bool {
		wanted := weight[e.Level] >= weight[q.Level]
		switch {
		case wanted && matching < q.Limit:
			out.Events = append(out.Events, e)
		case wanted && !q.Newest:
			out.More = true
			return false
		case wanted && q.Limit > 0:
			out.Events[matching%q.Limit] = e
		}
		if wanted {
			matching++
		}
		out.Next = e.Sequence
		return true
	})
	if out.Older = matching - len(out.Events); out.Older > 0 && q.Limit > 0 {
		oldest := matching % q.Limit
		out.Events = append(append([]eventlog.Record{}, out.Events[oldest:]...), out.Events[:oldest]...)
	}
	return out, err
}

// events answers with records above ?after= (default 0), at most ?limit= of them, of ?level= (default INFO) or above: the
// first ones, or with ?newest=true the last.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	q := EventQuery{Level: eventlog.Info}
	var err error
	if q.After, err = number(r, "after", 0, ^uint64(0)); err != nil {
		return err
	}
	limit, err := number(r, "limit", defaultEvents, maxEvents)
	if err != nil {
		return err
	}
	q.Limit = int(limit)
	if text := r.URL.Query().Get("level"); text != "" {
		if q.Level, err = Level(text); err != nil {
			return err
		}
	}
	if text := r.URL.Query().Get("newest"); text != "" {
		if q.Newest, err = strconv.ParseBool(text); err != nil {
			return fault.New(fault.BadRequest, "newest=%s is neither true nor false", text)
		}
	}
	out, err := q.Select(r.Context(), s.config.Events)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, out)
	return nil
}
