package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/arrow/arrowtest"
	"sluice/format/formattest"
	"sluice/format/json"
	"sluice/option"
	"sluice/sink"
	"sluice/sink/sinktest"
)

// open makes a sink whose program is this binary, playing a part on the folder dir.
func open(t testing.TB, dir, part string, fields []batch.Field, options ...string) *Sink {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("/usr/bin/env 'PLAY=%s' FORMAT=json GORACE=atexit_sleep_ms=0 '%s' '%s'", part, self, dir)
	var given []option.Given
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		if name == "args" {
			command += " " + value
			continue
		}
		given = append(given, option.Given{Name: name, Value: value})
	}
	given = append(given, option.Given{Name: "command", Value: command})
	v, problems := Options().Parse("sink format exec", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Options: v, Dir: dir, Pipeline: "conformance", Flow: "publish", Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type target struct {
	dir     string
	part    string
	options []string
	arrow   bool
	fields  []batch.Field
}

func (p *target) Open(t *testing.T) sink.Sink { return open(t, p.dir, p.part, p.fields, p.options...) }

func (p *target) Break(t *testing.T) func() {
	name := filepath.Join(p.dir, "broken")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// Doubt implements sinktest.Doubtful: the program does its work and says that it did not.
func (p *target) Doubt(t *testing.T) func() bool {
	name := filepath.Join(p.dir, "doubtful")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist)
	}
}

func (p *target) Read(t *testing.T, feed bool) batch.Columns {
	fields := p.fields
	if feed {
		fields = sink.FieldsWithChange(fields)
	}
	built := formattest.Builders(fields, 0)
	order, err := os.ReadFile(filepath.Join(p.dir, "order"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(order)) {
		data, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		rows := p.decode(t, data, fields)
		for c := range rows.Cols {
			for i := range rows.Len {
				built[c].AppendFrom(&rows.Cols[c], i)
			}
		}
	}
	return formattest.Columns(t, fields, built)
}

func (p *target) decode(t *testing.T, data []byte, fields []batch.Field) batch.Columns {
	if p.arrow {
		return arrowtest.Read(t, bytes.NewReader(data), fields)
	}
	d, err := json.NewDecoder(json.Options{Fields: fields, CorruptRecord: -1, NumbersAsStrings: true})
	if err != nil {
		t.Fatal(err)
	}
	built := formattest.Builders(fields, 0)
	if lines := bytes.Split(data, []byte("\n")); len(lines) > 1 {
		if bad := d.Decode(lines[:len(lines)-1], built); len(bad) > 0 {
			t.Fatal(bad[0].Err)
		}
	}
	return formattest.Columns(t, fields, built)
}

func TestConformance(t *testing.T) {
	for _, c := range []target{
		{part: "take"},
		{part: "take", options: []string{"format=arrow"}, arrow: true},
		{part: "stay", options: []string{"persistent=true"}},
	} {
		t.Run(strings.Join(append(c.options, c.part), " "), func(t *testing.T) {
			sinktest.Run(t, sinktest.Kind{Feed: true, New: func(t *testing.T, fields []batch.Field) sinktest.Target {
				p := c
				p.dir, p.fields = t.TempDir(), fields
				return &p
			}})
		})
	}
}

// oneRow is {"id":1} and a newline: nine bytes.
func oneRow(t testing.TB) sink.Rows {
	fields, _ := formattest.Fields(t, "id INT")
	built := formattest.Builders(fields, 1)
	built[0].AppendInt(1)
	return sink.Rows{Columns: formattest.Columns(t, fields, built)}
}

// logged catches the log of a test.
func logs(t *testing.T) *bytes.Buffer {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &out
}

// TestTheProgramIsToldWhichBatchItGets is D-46: the whole identity is in its environment.
func TestTheProgramIsToldWhichBatchItGets(t *testing.T) {
	t.Setenv("SLUICE_REPLAY", "1") // of a daemon that was started by such a program itself
	t.Setenv("SLUICE_LISTEN", "127.0.0.1:1")
	dir, rows := t.TempDir(), oneRow(t)
	for _, replay := range []bool{false, true} {
		out := logs(t)
		id := sinktest.ID(2, 7)
		id.Replay = replay
		err := open(t, dir, "environment", rows.Columns.Fields).Write(t.Context(), id, rows)
		if !fault.Of(err, fault.ExecFailed) {
			t.Fatalf("got %v", err)
		}
		want := []string{"SLUICE_PIPELINE=conformance", "SLUICE_FLOW=publish", "SLUICE_STORE=5f1d0c2a", "SLUICE_EPOCH=1", "SLUICE_GENERATION=2", "SLUICE_BATCH=7",
			"SLUICE_BATCH_TIME=2026-01-02T03:04:05Z", "SLUICE_ROWS=1", "SLUICE_LISTEN=127.0.0.1:1", "cwd " + dir, "level=DEBUG msg=\"said on standard output\" flow=publish"}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("no %s in\n%s", w, out.String())
			}
		}
		if strings.Contains(out.String(), "SLUICE_REPLAY=1") != replay {
			t.Errorf("replay is %v, the program said\n%s", replay, out.String())
		}
	}
}

// TestExitCodes is D-46: 0 accepted, 75 try again, else final. The log and the error have what the program said.
func TestExitCodes(t *testing.T) {
	rows := oneRow(t)
	for code, want := range map[int]*fault.Code{0: nil, retryCode: fault.ExecTryAgain, 1: fault.ExecFailed, 74: fault.ExecFailed} {
		out := logs(t)
		err := open(t, t.TempDir(), "exit", rows.Columns.Fields, fmt.Sprintf("args=%d", code)).Write(t.Context(), sinktest.ID(0, 0), rows)
		if want == nil && err != nil || want != nil && !fault.Of(err, want) {
			t.Errorf("exit %d: %v", code, err)
		}
		if err != nil && !strings.Contains(err.Error(), "last words") {
			t.Errorf("exit %d: the error does not say what the program said: %v", code, err)
		}
		for _, w := range []string{"msg=\"first line\"", "xxx...", "msg=\"last words\""} {
			if !strings.Contains(out.String(), w) {
				t.Errorf("no %s in the log", w)
			}
		}
		if n := out.Len(); n > 2*longestLine {
			t.Errorf("%d bytes were logged", n)
		}
	}
}

func TestAProgramThatDoesNotReadItsInputIsBelieved(t *testing.T) {
	fields, _ := formattest.Fields(t, "s STRING")
	built := formattest.Builders(fields, 1)
	built[0].AppendString(strings.Repeat("x", 1<<20)) // more than a pipe holds
	rows := sink.Rows{Columns: formattest.Columns(t, fields, built)}
	if err := open(t, t.TempDir(), "exit", fields, "args=0").Write(t.Context(), sinktest.ID(0, 0), rows); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	rows := oneRow(t)
	for _, persistent := range []string{"false", "true"} {
		v, _ := Options().Parse("", []option.Given{{Name: "command", Value: "./missing"}, {Name: "persistent", Value: persistent}}, fault.Pos{})
		s, err := New(Config{Options: v, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), sinktest.ID(0, 0), rows); !fault.Of(err, fault.ExecNotStarted) {
			t.Errorf("got %v", err)
		}
		if err := s.Check(t.Context()); !fault.Of(err, fault.ExecNotStarted) {
			t.Errorf("D-56: got %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// D-56: a check finds the program, in the path or below the pipeline's folder, and starts nothing.
func TestAProgramThatIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\ntouch started\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"./program", "env"} {
		v, _ := Options().Parse("", []option.Given{{Name: "command", Value: command}}, fault.Pos{})
		s, err := New(Config{Options: v, Dir: dir})
		if err == nil {
			err = s.Check(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("the check started the program")
	}
}

// TestTheWholeGroupIsKilled is a hard stop (D-46): the program and what it started are gone.
func TestTheWholeGroupIsKilled(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, options := range [][]string{nil, {"persistent=true"}} {
		dir, rows := t.TempDir(), oneRow(t)
		s := open(t, dir, "hang", rows.Columns.Fields, options...)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for {
				if child, err := os.ReadFile(filepath.Join(dir, "child")); err == nil && len(child) > 0 {
					cancel()
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		if err := s.Write(ctx, sinktest.ID(0, 0), rows); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "child"))
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for gone(pid) == false { // it is reaped by whoever adopted it
			time.Sleep(time.Millisecond)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestProgramsThatBreakTheProtocol are found out, and a new process gets the next attempt.
func TestProgramsThatBreakTheProtocol(t *testing.T) {
	rows := oneRow(t)
	for part, want := range map[string]*fault.Code{
		"wrong word":     fault.ExecProtocol,
		"wrong number":   fault.ExecProtocol,
		"endless answer": fault.ExecProtocol,
		"no answer":      fault.ExecProtocol,
		"exit 75":        fault.ExecTryAgain,
		"exit 4":         fault.ExecFailed,
	} {
		t.Run(part, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			s := open(t, t.TempDir(), part, rows.Columns.Fields, "persistent=true")
			for range 2 {
				if err := s.Write(t.Context(), sinktest.ID(0, 0), rows); !fault.Of(err, want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			s.Close()
		})
	}
}

// TestAnAnswerBeforeTheBatchIsRead is no answer when it says ok, and one when it refuses.
func TestAnAnswerBeforeTheBatchIsRead(t *testing.T) {
	fields, _ := formattest.Fields(t, "s STRING")
	built := formattest.Builders(fields, 1)
	built[0].AppendString(strings.Repeat("x", 1<<20)) // more than a pipe holds
	rows := sink.Rows{Columns: formattest.Columns(t, fields, built)}
	for part, want := range map[string]*fault.Code{"ok at once": fault.ExecProtocol, "fail at once": fault.ExecFailed} {
		t.Run(part, func(t *testing.T) {
			s := open(t, t.TempDir(), part, fields, "persistent=true")
			s.patience = 100 * time.Millisecond
			err := s.Write(t.Context(), sinktest.ID(0, 0), rows)
			if !fault.Of(err, want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if want == fault.ExecFailed && !strings.Contains(err.Error(), "no such table") {
				t.Errorf("the error has not the program's words: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAProgramThatExitsBetweenBatchesIsStartedAnew: nothing was in flight, so nothing failed.
func TestAProgramThatExitsBetweenBatchesIsStartedAnew(t *testing.T) {
	rows := oneRow(t)
	s := open(t, t.TempDir(), "ok and gone", rows.Columns.Fields, "persistent=true")
	for range 3 {
		if err := s.Write(t.Context(), sinktest.ID(0, 0), rows); err != nil {
			t.Fatal(err)
		}
		<-s.running.reading // it has exited
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatNeverEndsIsKilledAtClose(t *testing.T) {
	rows := oneRow(t)
	s := open(t, t.TempDir(), "never ends", rows.Columns.Fields, "persistent=true")
	s.patience = 100 * time.Millisecond
	if err := s.Write(t.Context(), sinktest.ID(0, 0), rows); err != nil {
		t.Fatal(err)
	}
	pid := s.running.cmd.Process.Pid
	if err := s.Close(); err == nil {
		t.Error("Close does not say that the program was killed")
	}
	if !gone(pid) {
		t.Error("the program is still there")
	}
}

func TestWords(t *testing.T) {
	for command, want := range map[string][]string{
		"a b":             {"a", "b"},
		"  a\t'b c' \n":   {"a", "b c"},
		`a "b 'c" d\ e`:   {"a", "b 'c", "d e"},
		`'a"b' "c\"d" ''`: {`a"b`, `c"d`, ""},
		`a'b'"c"`:         {"abc"},
		"":                nil,
		"'a":              nil,
		`"a`:              nil,
		`a\`:              nil,
	} {
		got, ok := words(command)
		if ok != (want != nil || command == "") || ok && !reflect.DeepEqual(slices.Clip(got), want) {
			t.Errorf("%q: %q %v, want %q", command, got, ok, want)
		}
	}
	for _, c := range []string{"", " ", "'a"} {
		v, _ := Options().Parse("", []option.Given{{Name: "command", Value: c}}, fault.Pos{})
		if problems := Validate(v, fault.Pos{}); len(problems) != 1 || problems[0].Code != fault.InvalidOption {
			t.Errorf("%q: %v", c, problems)
		}
	}
}
