package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/arrow"
	"sluice/format/json"
	"sluice/option"
	"sluice/sink"
)

// Config says which program gets the batches and how.
type Config struct {
	Options  option.Values // parsed with Options()
	At       fault.Pos     // of the sink, for messages
	Dir      string        // the pipeline's folder
	Pipeline string
	Flow     string
	Fields   []batch.Field // columns of the rows it will get
}

// Sink implements sink.Sink.
type Sink struct {
	config  Config
	opts    options
	payload bytes.Buffer
	text    []byte
	ends    []int
	running *process // of a persistent sink, nil until it is needed
	// patience is how long a program may take to exit when its input has ended, and to close its outputs when it has exited.
	patience time.Duration
}

// New makes a Sink. Nothing is started.
func New(c Config) (*Sink, error) {
	opts, problems := parse(c.Options, c.At)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if opts.arrow {
		if _, err := arrow.Schema(c.Fields); err != nil {
			return nil, fault.From(err).At(c.At)
		}
	}
	return &Sink{config: c, opts: opts, patience: patience}, nil
}

// Open implements sink.Sink. A program cannot be asked what it has: it is told with each batch.
func (s *Sink) Open(ctx context.Context, _ batch.ID, _ bool) error { return ctx.Err() }

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	columns := rows.WithChange()
	if err := s.encode(&columns); err != nil {
		return err
	}
	var err error
	if s.opts.persistent {
		err = s.ask(ctx, id, columns.Len)
	} else {
		err = s.run(ctx, id, columns.Len)
	}
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return err
}

// encode writes the rows to s.payload.
func (s *Sink) encode(rows *batch.Columns) (err error) {
	s.payload.Reset()
	if s.opts.arrow {
		return arrow.WriteStream(&s.payload, rows)
	}
	const atOnce = 4096
	encoder := json.NewEncoder(rows.Fields, json.EncodeOptions{Lines: true, BigIntAsText: s.opts.bigIntAsText})
	for from := 0; from < rows.Len; from += atOnce {
		if s.text, s.ends, err = encoder.Encode(s.text[:0], s.ends[:0], rows, from, min(from+atOnce, rows.Len)); err != nil {
			return err
		}
		s.payload.Write(s.text)
	}
	return nil
}

// Forget gives up buffers, which a large batch has made large.
func (s *Sink) Forget() { s.payload, s.text, s.ends = bytes.Buffer{}, nil, nil }

// Close implements sink.Sink: a program that stays gets the end of its input and some time.
func (s *Sink) Close() error {
	if s.running == nil {
		return nil
	}
	p := s.running
	s.running = nil
	return p.finish()
}

const patience = 5 * time.Second

// retryCode is the exit code that asks for the batch again: EX_TEMPFAIL of sysexits.h.
const retryCode = 75

// run gives the batch to a process of its own.
func (s *Sink) run(ctx context.Context, id batch.ID, rows int) error {
	cmd := s.command(ctx)
	cmd.Env = append(cmd.Env, environment(id, rows)...)
	cmd.Stdin = bytes.NewReader(s.payload.Bytes())
	complaints, output := s.logs(id)
	cmd.Stderr, cmd.Stdout = complaints, output
	if err := cmd.Start(); err != nil {
		return s.notStarted(err)
	}
	err := cmd.Wait()
	complaints.end()
	output.end()
	return s.verdict(err, complaints)
}

// command prepares the program: in the pipeline's folder, in a process group that is killed whole when ctx ends.
func (s *Sink) command(ctx context.Context) *exec.Cmd {
	name := s.opts.command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		if path, err := filepath.Abs(filepath.Join(s.config.Dir, name)); err == nil {
			name = path // the program starts in Dir, where a relative one would mean another place
		}
	}
	cmd := exec.CommandContext(ctx, name, s.opts.command[1:]...)
	cmd.Dir = s.config.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), ours)
	cmd.SysProcAttr = tied()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = s.patience
	return cmd
}

// environment says which batch it is.
func environment(id batch.ID, rows int) []string {
	out := []string{
		"SLUICE_PIPELINE=" + id.Pipeline,
		"SLUICE_FLOW=" + id.Flow,
		"SLUICE_STORE=" + id.Store,
		fmt.Sprintf("SLUICE_EPOCH=%d", id.Epoch),
		fmt.Sprintf("SLUICE_GENERATION=%d", id.Generation),
		fmt.Sprintf("SLUICE_BATCH=%d", id.Number),
		"SLUICE_BATCH_TIME=" + id.Time.UTC().Format(time.RFC3339Nano),
		fmt.Sprintf("SLUICE_ROWS=%d", rows),
	}
	if id.Replay {
		out = append(out, "SLUICE_REPLAY=1")
	}
	return out
}

// ours finds variables of this program's own environment that would be taken for a batch's.
func ours(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	for _, v := range environment(batch.ID{Replay: true}, 0) {
		if strings.HasPrefix(v, name+"=") {
			return true
		}
	}
	return false
}

func (s *Sink) notStarted(err error) error {
	return fault.New(fault.ExecNotStarted, "%s cannot be started", s.opts.command[0]).At(s.config.At).Because(err)
}

// verdict is what an exit means. A program that exits well is believed, even if something it started holds its outputs
// open.
func (s *Sink) verdict(err error, log *logged) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	code := fault.ExecFailed
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == retryCode {
		code = fault.ExecTryAgain
	}
	e := fault.New(code, "%s ended with: %v", s.opts.command[0], err).At(s.config.At)
	if last := log.last(); last != "" {
		e.WithDetail("%s", last)
	}
	return e
}
