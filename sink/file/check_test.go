package file

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/fault"
)

// D-56: a check says whether the folder can be used, and does not make it.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	s, err := open(t, dir, nil, "path=a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !fault.Of(err, fault.FilePathInvalid) {
		t.Errorf("below a file: %v", err)
	}
	if s, err = open(t, "/proc", nil, "path=batches"); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !fault.Of(err, fault.FileNotWritten) && os.Geteuid() != 0 {
		t.Errorf("where nobody may write: %v", err)
	}
}
