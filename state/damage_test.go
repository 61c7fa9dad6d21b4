package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/fault"
)

// What is no folder holds no store, and nobody is asked to stop anything.
func TestStorageThatIsNoFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.sql")
	ok(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "state")} {
		for _, reads := range []bool{false, true} {
			_, err := Open(Options{Dir: path, Pipeline: "p", ReadOnly: reads})
			if !fault.Of(err, fault.StorageRootInvalid) || !strings.Contains(err.Error(), "not a folder") {
				t.Errorf("%s, to read %t: %v", path, reads, err)
			}
		}
	}
	inTheWay := filepath.Join(dir, "state")
	ok(t, os.MkdirAll(filepath.Join(inTheWay, "lock"), 0o755))
	if _, err := Open(Options{Dir: inTheWay, Pipeline: "p"}); err == nil || fault.Of(err, fault.StoreLocked) {
		t.Errorf("a folder where the lock is: %v", err)
	}
}

// A file of the store that was cut or is gone is damage: no opening takes what is left for the store, or says that all is there.
func TestAFileThatIsCutOrGoneIsDamage(t *testing.T) {
	for _, pattern := range []string{"*.sst", "MANIFEST-*"} {
		for name, harm := range map[string]func(string) error{
			"cut":     func(path string) error { return os.Truncate(path, 20) },
			"emptied": func(path string) error { return os.Truncate(path, 0) },
			"gone":    os.Remove,
		} {
			dir := t.TempDir()
			options := Options{Dir: dir, Pipeline: "p", OnFault: func(error) {}}
			s, err := Open(options)
			ok(t, err)
			table, flow := opened(t, s)
			_, _, err = replace(t, table, flow, 1, row{"a", 1, strings.Repeat("value", 1000), 0})
			ok(t, err)
			ok(t, s.db.Flush())
			ok(t, s.Close())
			files, err := filepath.Glob(filepath.Join(dir, "store", pattern))
			ok(t, err)
			if len(files) == 0 {
				t.Fatal("no " + pattern)
			}
			for _, path := range files {
				ok(t, harm(path))
			}
			s, err = Open(options)
			if err == nil {
				_ = s.Close()
			}
			if !fault.Of(err, fault.StoreCorrupt) || strings.Contains(err.Error(), "still there") {
				t.Errorf("%s %s: %v", pattern, name, err)
			}
		}
	}
}
