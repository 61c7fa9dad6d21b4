package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// delivery is a program of an exec sink that does not come to its end while the file "hang" is there. It says which process it is
// and which batch it has.
const delivery = `#!/bin/sh
echo "$$" >pid.new && mv pid.new pid
echo "$SLUICE_BATCH ${SLUICE_REPLAY:-0} $(cat)" >>batches
while test -e hang; do sleep 0.1; done
`

// hanging starts a pipeline whose exec sink has its first batch and does not come to its end.
func hanging(t *testing.T, grace string) (*site, *running) {
	t.Helper()
	s := local(t, `CREATE SINK out FORMAT exec OPTIONS (command => './deliver');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n", "deliver": delivery, "hang": ""})
	if err := os.Chmod(filepath.Join(s.dir, "deliver"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.sets = append(s.sets, "--set", "sluice.grace_period="+grace)
	d := s.start()
	s.until("the program", func() bool { return s.file("batches") != "" })
	return s, d
}

func (s *site) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name)) // "" until it is there
	return string(text)
}

// alive reports whether the program has not ended, be it only that nobody has waited for it.
func (s *site) alive() bool {
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(s.file("pid")) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// delivered lets the program come to its end and expects the batch to come once more, as the same.
func (s *site) delivered() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, "hang")); err != nil {
		s.t.Fatal(err)
	}
	d := s.start()
	s.until("the batch", func() bool { return strings.Contains(s.flow("publish").Reason, "waiting") })
	d.stop(exitOK)
	if got, want := s.file("batches"), "0 0 {\"a\":1}\n0 1 {\"a\":1}\n"; got != want {
		s.t.Errorf("the program got\n%swant\n%s", got, want)
	}
}

// D-39: a sink call that outlasts the grace period is broken off. The exit code is 0, a warning is in the log and in the event log, the
// batch stays planned and comes again.
func TestGracePeriodBreaksOffWithAWarning(t *testing.T) {
	s, d := hanging(t, "300ms")
	d.stop(exitOK)
	if s.alive() {
		t.Error("the program is still there")
	}
	_, events := s.verb("events", "--level", "warn")
	_, status := s.verb("status", "-o", "csv")
	for what, text := range map[string]string{"log": d.output(), "event log": events} {
		if n := strings.Count(text, "GRACE_PERIOD_OVER"); n != 1 || !strings.Contains(text, "batch 0 ") || !strings.Contains(text, "300ms") {
			t.Errorf("%d warnings in the %s:\n%s", n, what, text)
		}
	}
	if !strings.Contains(status, "not running,batch 0 waits for its sink,0,NULL,0,0,") && !strings.Contains(status, "not running,batch 0 waits for its sink,0,,0,0,") {
		t.Errorf("the planned batch is not in the status:\n%s", status)
	}
	s.delivered()
}

// A daemon that is killed takes the program of its exec sink with it, so that the next start does not send the same batch beside it.
func TestKilledDaemonTakesTheProgramOfASinkAlong(t *testing.T) {
	s, d := hanging(t, "30s")
	if !s.alive() {
		t.Fatal(fmt.Sprint("the program is not there: ", s.file("pid")))
	}
	d.kill()
	s.until("the end of the program", func() bool { return !s.alive() })
	s.delivered()
}
