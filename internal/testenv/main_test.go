package testenv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (*recorder) Helper()             {}
func (r *recorder) Skip(args ...any)  { r.skipped = fmt.Sprint(args...) }
func (r *recorder) Fatal(args ...any) { r.failed = fmt.Sprint(args...) }

// What cannot run says so, and is a failure where nothing may be left out.
func TestLeaveOut(t *testing.T) {
	t.Setenv("REQUIRE_DOCKER", "")
	var r recorder
	leaveOut(&r, "Docker", errors.New("no daemon"))
	if r.failed != "" || !strings.HasPrefix(r.skipped, "left out: needs Docker") {
		t.Errorf("%+v", r)
	}
	t.Setenv("REQUIRE_DOCKER", "1")
	r = recorder{}
	leaveOut(&r, "Docker", errors.New("no daemon"))
	if !strings.HasPrefix(r.failed, "left out: needs Docker") || !strings.Contains(r.failed, "REQUIRE_DOCKER") {
		t.Errorf("%+v", r)
	}
}
