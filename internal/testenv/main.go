package testenv

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is what several tests of a package use.
var shared struct {
	sync.Mutex
	main  bool
	stops []func()
}

// Main runs a package's tests and then stops what they share.
func Main(m *testing.M) {
	shared.main = true
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	for _, stop := range shared.stops {
		stop()
	}
	os.Exit(code)
}

// atEnd registers a stop for the end of the package's tests. shared is locked.
func atEnd(t testing.TB, stop func()) {
	t.Helper()
	if !shared.main {
		stop()
		t.Fatal("the package needs: func TestMain(m *testing.M) { testenv.Main(m) }")
	}
	shared.stops = append(shared.stops, stop)
}

// leaveOut skips a test that needs something the machine lacks, or fails it where REQUIRE_DOCKER=1 says that nothing may
// be lacking.
func leaveOut(t testing.TB, needs string, err error) {
	t.Helper()
	text := fmt.Sprintf("left out: needs %s (%v)", needs, err)
	if os.Getenv("REQUIRE_DOCKER") == "1" {
		t.Fatal(text + "; REQUIRE_DOCKER=1 forbids that")
	}
	t.Skip(text)
}
