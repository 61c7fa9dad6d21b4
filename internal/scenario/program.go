package scenario

import (
	"maps"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kfake"

	"sluice/eval"
	"sluice/sink"
)

// Program is a scenario whose commands come from a program instead of a file, in one variant.
type Program struct{ world *world }

// Through is what stands between a daemon and what outlives it, so that a test can harm either. A nil function is nothing.
type Through struct {
	Broker []kfake.Opt
	Disk   func(vfs.FS) vfs.FS       // called at each start
	Sink   func(sink.Sink) sink.Sink // called for each memory sink that is opened
}

func (t Through) disk(fs vfs.FS) vfs.FS {
	if t.Disk == nil {
		return fs
	}
	return t.Disk(fs)
}

func (t Through) sink(s sink.Sink) sink.Sink {
	if t.Sink == nil {
		return s
	}
	return t.Sink(s)
}

// Axis is one way in which runs differ. The first value is the plain one.
type Axis struct {
	Name   string
	Values []string
}

// Axes are the ways in which runs differ.
func Axes() (out []Axis) {
	for _, a := range axes {
		out = append(out, Axis{a.name, a.values})
	}
	return out
}

// NewProgram starts a world in an empty folder. variant gives values of axes; the plain one where it gives none.
func NewProgram(dir string, variant map[string]string, through Through, engine *eval.Engine) (*Program, error) {
	fixed := map[string]string{}
	for _, a := range axes {
		fixed[a.name] = a.values[0]
	}
	maps.Copy(fixed, variant)
	v, err := family(fixed)
	if err != nil {
		return nil, err
	}
	w, err := newWorld(dir, v[0], through, engine)
	if err != nil {
		return nil, err
	}
	return &Program{w}, nil
}

// Do runs a command as it stands in a file and returns what the file would show under it. The error is a mistake in how the
// command is written.
func (p *Program) Do(command, input string) (string, error) {
	name, args, err := datadriven.ParseLine(command)
	if err != nil {
		return "", err
	}
	return p.world.execute(name, args, strings.TrimSuffix(input, "\n"))
}

// OutageToCome reports whether an outage was arranged and has not come, since nothing was written so often.
func (p *Program) OutageToCome() bool { return p.world.outage != nil }

// Verify holds the digests that are kept of tables against their rows.
func (p *Program) Verify() error { return p.world.verify() }

// Close stops what runs.
func (p *Program) Close() { p.world.close() }
