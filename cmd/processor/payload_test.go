package main

import (
	"strings"
	"testing"

	"sluice/eventlog"
)

// content is what the log may not have of a record, at its levels above debug.
const content = "hush-content-4711"

// Records that are refused, left out, kept in part and kept in quarantine, and rows that break constraints: the log names them by their
// place, the event log and status show what stood in them.
func TestTheLogHoldsNoContentOfRecords(t *testing.T) {
	flows := map[string]string{ // name to error code
		"unreadable": "CANNOT_PARSE_JSON_FIELD", "violating": "EXPECTATION_VIOLATION", "failing": "CAST_INVALID_INPUT",
		"dropping": "CANNOT_PARSE_JSON_FIELD", "permissive": "CANNOT_PARSE_JSON_FIELD", "setting_aside": "CANNOT_PARSE_JSON_FIELD", "empty": "NOT_NULL_CONSTRAINT_VIOLATION",
	}
	s := local(t, `CREATE STREAMING TABLE unreadable AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');
CREATE STREAMING TABLE violating (CONSTRAINT short EXPECT (length(a) < 3) ON VIOLATION FAIL UPDATE) AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a STRING');
CREATE STREAMING TABLE failing AS SELECT CAST(a AS INT) AS a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a STRING');
CREATE STREAMING TABLE dropping AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT', mode => 'DROPMALFORMED');
CREATE STREAMING TABLE permissive AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT', mode => 'PERMISSIVE');
CREATE STREAMING TABLE setting_aside AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT', mode => 'QUARANTINE');
CREATE STREAMING TABLE empty (a STRING, b STRING NOT NULL) AS SELECT a, b FROM STREAM read_files('in/*.json', format => 'json', schema => 'a STRING, b STRING');`,
		map[string]string{"in/1.json": `{"a":"` + content + `"}` + "\n"})
	d := s.start()
	for flow := range flows {
		s.until("the end of "+flow, func() bool {
			f := s.flow(flow)
			return f.Status == string(eventlog.Failed) || f.Reason == "waiting for data"
		})
	}
	_, events := s.verb("events", "-n", "1000")
	d.stop(exitFailure)
	log := d.output()
	if i := strings.Index(log, content); i >= 0 {
		t.Errorf("the log has ...%s...", log[max(0, i-200):min(len(log), i+100)])
	}
	for flow, code := range flows {
		for what, text := range map[string]string{"log": log, "event log": events} {
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.Contains(line, flow) && strings.Contains(line, code)
			}
			if !found {
				t.Errorf("the %s has no %s of flow %s", what, code, flow)
			}
		}
	}
	if !strings.Contains(events, content) {
		t.Errorf("the event log does not show the record:\n%s", events)
	}
}
