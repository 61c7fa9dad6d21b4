package eventlog

import (
	"encoding/json"
	"sort"
	"sync"
	"time"

	"sluice/fault"
)

// Record is an event as it is kept and shown (14.1).
type Record struct {
	Sequence  uint64          `json:"sequence"` // rises by one within a pipeline
	Timestamp time.Time       `json:"timestamp"`
	Level     Level           `json:"level"`
	EventType string          `json:"event_type"`
	Message   string          `json:"message"`
	Pipeline  string          `json:"pipeline_name"`
	UpdateID  string          `json:"update_id"`
	Origin    Origin          `json:"origin"`
	Details   json.RawMessage `json:"details,omitempty"`
	Error     *RecordError    `json:"error,omitempty"`
}

// RecordError is the coded error of a record.
type RecordError struct {
	Code    string `json:"code"`
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Durable keeps the log of one update.
type Durable struct {
	pipeline string
	update   string
	append   func(record func(sequence uint64) []byte)
	interval time.Duration

	mu    sync.Mutex
	since time.Time
	sums  map[string]*sum
}

// sum is what the batches of one flow added up to since the last record.
type sum struct {
	last         *BatchDone
	batches      int64
	outcome      Outcome
	expectations map[string]Expectation
	columnErrors []ColumnErrors
}

// NewDurable returns a listener's owner that writes records through append. append hands the next sequence number to its
// argument and stores what comes back; it must not block for long.
func NewDurable(pipeline, update string, interval time.Duration, append func(record func(sequence uint64) []byte)) *Durable {
	return &Durable{pipeline: pipeline, update: update, append: append, interval: interval, since: time.Now(), sums: map[string]*sum{}}
}

// Listen is the listener.
func (d *Durable) Listen(e Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b, ok := e.(*BatchDone); ok {
		d.add(b)
		if time.Since(d.since) >= d.interval {
			d.flush()
		}
		return
	}
	d.flush()
	d.write(e, details(e), errorOf(e))
}

// Flush writes the counts added up so far. It is called before the store closes.
func (d *Durable) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
}

func (d *Durable) add(b *BatchDone) {
	s := d.sums[b.Flow]
	if s == nil {
		s = &sum{expectations: map[string]Expectation{}}
		d.sums[b.Flow] = s
	}
	s.last = b
	s.batches++
	s.outcome.Add(b.Outcome)
	s.columnErrors = AddColumnErrors(s.columnErrors, b.ColumnErrors)
	for _, x := range b.Expectations {
		have := s.expectations[x.Name]
		x.Passed, x.Failed, x.Errors = x.Passed+have.Passed, x.Failed+have.Failed, x.Errors+have.Errors
		s.expectations[x.Name] = x
	}
}

func (d *Durable) flush() {
	d.since = time.Now()
	flows := make([]string, 0, len(d.sums))
	for f := range d.sums {
		flows = append(flows, f)
	}
	sort.Strings(flows)
	for _, f := range flows {
		s := d.sums[f]
		total := *s.last
		total.Outcome, total.Expectations, total.ColumnErrors = s.outcome, nil, s.columnErrors
		names := make([]string, 0, len(s.expectations))
		for n := range s.expectations {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			total.Expectations = append(total.Expectations, s.expectations[n])
		}
		d.write(&total, batchDetails(&total, s.batches), nil)
	}
	clear(d.sums)
}

func (d *Durable) write(e Event, details any, failure *fault.Error) {
	r := Record{Timestamp: time.Now().UTC(), Level: e.Level(), EventType: e.Type(), Message: e.String(), Pipeline: d.pipeline, UpdateID: d.update, Origin: e.Origin()}
	if u, ok := e.(*UpdateProgress); ok && u.Update != "" {
		r.UpdateID = u.Update
	}
	if s, ok := e.(*ScheduleProgress); ok && s.Update != "" {
		r.UpdateID = s.Update
	}
	r.Details, _ = json.Marshal(map[string]any{e.Type(): details})
	if failure != nil {
		r.Error = &RecordError{failure.Code.Name, failure.Code.Class.String(), failure.Message, failure.Hint}
	}
	d.append(func(sequence uint64) []byte {
		r.Sequence = sequence
		text, err := json.Marshal(r)
		if err != nil {
			panic(err) // a Record has nothing that cannot be JSON
		}
		return text
	})
}

// batchDetails is the body of a flow_progress record of batches: counts are deltas over Batches (EL-O0).
func batchDetails(b *BatchDone, batches int64) any {
	quality := map[string]any{"dropped_records": b.Outcome.Dropped, "expectations": b.Expectations}
	if b.ColumnErrors != nil {
		quality["column_errors"] = b.ColumnErrors
	}
	return map[string]any{
		"status":       Running,
		"metrics":      b.Outcome,
		"num_batches":  batches,
		"data_quality": quality,
	}
}

func details(e Event) any {
	switch e := e.(type) {
	case *FlowProgress:
		return map[string]any{"status": e.Status, "reason": e.Reason}
	case *UpdateProgress:
		return map[string]any{"state": e.State}
	case *UpdateWarning:
		return map[string]any{"state": "SETTING_UP_TABLES"}
	case *RecordRefused:
		return map[string]any{"status": Running, "split": e.Split, "offset": e.At.String()}
	case *FlowWarning:
		return map[string]any{"status": Running}
	case *BrokerSilent:
		d := map[string]any{"status": Running, "address": e.Address, "since": e.Since.UTC(), "request": e.Request}
		if e.Node >= 0 {
			d["broker"] = e.Node
		}
		if e.Over > 0 {
			d["seconds"] = e.Over.Seconds()
		}
		return d
	case *ScheduleProgress:
		return map[string]any{"state": e.State, "schedule": e.Schedule, "scheduled_time": e.Turn.UTC()}
	case *UserAction:
		d := map[string]any{"action": e.Action, "names": e.Names}
		if e.Change != nil {
			d["change"] = e.Change
		}
		return d
	}
	return e
}

func errorOf(e Event) *fault.Error {
	switch e := e.(type) {
	case *FlowProgress:
		return e.Err
	case *UpdateProgress:
		return e.Err
	case *RecordRefused:
		return e.Err
	case *FlowWarning:
		return e.Err
	case *BrokerSilent:
		return e.fault()
	case *UpdateWarning:
		return e.Err
	case *ScheduleProgress:
		return e.Err
	}
	return nil
}
