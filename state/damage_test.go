package state

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
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

// What a clean stop left in the log is in tables too: whatever becomes of the log, nothing is lost without a word.
func TestALogThatIsDamagedAfterAStopLosesNothing(t *testing.T) {
	for name, harm := range map[string]func(string, int64) error{
		"cut":     func(path string, size int64) error { return os.Truncate(path, size/3) },
		"emptied": func(path string, _ int64) error { return os.Truncate(path, 0) },
		"gone":    func(path string, _ int64) error { return os.Remove(path) },
		"garbage": func(path string, size int64) error { return scribble(path, size/3) },
	} {
		dir := t.TempDir()
		options := Options{Dir: dir, Pipeline: "p", OnFault: func(error) {}}
		s, err := Open(options)
		ok(t, err)
		table, flow := opened(t, s)
		const n = 50
		for i := range int64(n) {
			_, _, err = replace(t, table, flow, i, row{strconv.FormatInt(i, 10), i, strings.Repeat("value", 1000), i})
			ok(t, err)
		}
		ok(t, s.Close())
		logs, err := filepath.Glob(filepath.Join(dir, "store", "*.log"))
		ok(t, err)
		for _, path := range logs {
			info, err := os.Stat(path)
			ok(t, err)
			ok(t, harm(path, info.Size()))
		}
		if s, err = Open(options); err != nil {
			if !fault.Of(err, fault.StoreCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		table, _ = opened(t, s)
		if rows := table.Info().Rows; rows != n {
			t.Errorf("%s: %d rows of %d are left", name, rows, n)
		}
		ok(t, s.Close())
	}
}

// scribble writes a few bytes over those of a file.
func scribble(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("garbage"), at)
	return errors.Join(err, f.Close())
}
