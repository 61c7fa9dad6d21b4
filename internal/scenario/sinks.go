package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/daemon"
	"sluice/fault"
	"sluice/format/json"
	"sluice/plan"
	"sluice/sink"
	"sluice/sink/memory"
	"sluice/source/kafka/client"
)

// openSink makes the sink of a flow, on the daemon's power.
func (r *run) openSink(p *plan.Pipeline, f *plan.Flow, m *client.Monitor) (sink.Sink, error) {
	if f.Sink.Format == "memory" {
		store := r.world.outside[f.Sink.Name]
		return &powered{r.world.through.sink(&faithful{store.Sink(), store}), f.Sink.Name, r}, nil
	}
	s, err := daemon.OpenSink(p, f, m)
	return &powered{s, f.Sink.Name, r}, err
}

// powered is a sink that writes nothing after a crash of its daemon. In variants that crash it is also where some crashes
// come: between a sink that has accepted a batch and the store that learns of it.
type powered struct {
	sink.Sink
	name string
	run  *run
}

var errDark = errors.New("the daemon crashed")

// Write implements sink.Sink.
func (p *powered) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if p.run.world.held.CompareAndSwap(p.name, "") {
		p.run.end(func() { p.run.soft(); p.run.hard() }) // the grace period is over (D-39)
		<-ctx.Done()
		return ctx.Err()
	}
	p.run.power.RLock()
	if p.run.dark {
		p.run.power.RUnlock()
		return errDark
	}
	err := p.run.world.refuse(p.name, func() error { return p.Sink.Write(ctx, id, rows) })
	p.run.power.RUnlock()
	if err == nil && p.run.halt != nil && p.run.world.variant.is("stop", "crash") && !id.Replay {
		p.run.crash()
	}
	return err
}

// faithful is a memory sink that refuses a batch which comes again with other rows (FB-09, D-42).
type faithful struct {
	sink.Sink
	store *memory.Store
}

// Write implements sink.Sink.
func (f *faithful) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	for _, b := range f.store.Batches() {
		if b.ID.Flow != id.Flow || b.ID.Generation != id.Generation || b.ID.Number != id.Number {
			continue
		}
		before, err := deliveredOf(b.ID, b.Rows)
		if err != nil {
			return err
		}
		now, err := deliveredOf(id, rows)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(before, now) {
			return fault.New(fault.InternalError, "batch %d/%d came again with other rows: %v, before %v", id.Generation, id.Number, now.rows, before.rows)
		}
	}
	return f.Sink.Write(ctx, id, rows)
}

// delivered is what came out of one batch: its identity and its rows as text, with what each means.
type delivered struct {
	flow       string
	generation uint64
	number     uint64
	changes    []string
	rows       []string
}

// kept returns the batches a memory sink holds.
func kept(s *memory.Store) ([]delivered, error) {
	var out []delivered
	for _, b := range s.Batches() {
		d, err := deliveredOf(b.ID, b.Rows)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func deliveredOf(id batch.ID, rows sink.Rows) (delivered, error) {
	d := delivered{flow: id.Flow, generation: id.Generation, number: id.Number}
	encoder := json.NewEncoder(rows.Columns.Fields, json.EncodeOptions{})
	for i := range rows.Columns.Len {
		text, _, err := encoder.Encode(nil, nil, &rows.Columns, i, i+1)
		if err != nil {
			return d, err
		}
		change := ""
		if rows.Change != nil {
			change = rows.Change[i].String()
		}
		d.rows, d.changes = append(d.rows, cells(string(text))), append(d.changes, change)
	}
	return d, nil
}

// written returns the batches that a file sink wrote as JSON.
func written(dir string) ([]delivered, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var out []delivered
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parts := strings.Split(filepath.Base(name), ".")
		var d delivered
		if len(parts) != 5 {
			return nil, fmt.Errorf("no file of a sink: %s", name)
		}
		d.flow = parts[1]
		if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "%d %d", &d.generation, &d.number); err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			d.add(line)
		}
		out = append(out, d)
	}
	return out, nil
}

// add adds a row that is a JSON object, with _change_type where the sink writes a change feed.
func (d *delivered) add(object string) {
	change, rest := "", object
	if text, ok := strings.CutPrefix(object, `{"_change_type":"`); ok {
		change, rest, _ = strings.Cut(text, `"`)
		rest = "{" + strings.TrimPrefix(rest, ",")
	}
	d.changes = append(d.changes, change)
	d.rows = append(d.rows, cells(rest))
}

// fold adds up batches as a receiver would: deletes take rows away, and batch 0 of a later generation empties what the
// flow had written (FB-04).
func fold(batches []delivered) ([]string, error) {
	held := map[string]map[string]int{} // by flow
	for _, d := range batches {
		if held[d.flow] == nil || d.number == 0 && d.generation > 0 {
			held[d.flow] = map[string]int{}
		}
		for i, row := range d.rows {
			switch d.changes[i] {
			case "delete", "update_preimage":
				held[d.flow][row]--
			default:
				held[d.flow][row]++
			}
		}
	}
	var lines []string
	for flow, rows := range held {
		for row, n := range rows {
			if n < 0 {
				return nil, fmt.Errorf("flow %s deleted %q more often than it inserted it", flow, row)
			}
			for range n {
				lines = append(lines, row)
			}
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// arrivals are the rows in the order in which they came, a row that follows its like left out.
func arrivals(batches []delivered) []string {
	var lines []string
	for _, d := range batches {
		lines = append(lines, d.rows...)
	}
	return slices.Compact(lines)
}

// consumed returns what a committed reader finds in a topic. With upsert only the last value of each key counts.
func (w *world) consumed(ctx context.Context, name string, upsert bool) ([]string, error) {
	records, err := w.read(ctx, name)
	if err != nil {
		return nil, err
	}
	if !upsert {
		var d delivered
		for _, r := range records {
			d.add(string(r.Value))
		}
		return fold([]delivered{d})
	}
	last := map[string]*kgo.Record{}
	for _, r := range records {
		last[string(r.Key)] = r
	}
	var lines []string
	for key, r := range last {
		if r.Value != nil {
			lines = append(lines, cells(key)+" => "+cells(string(r.Value)))
		}
	}
	slices.Sort(lines)
	return lines, nil
}
