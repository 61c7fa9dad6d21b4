package disk

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func write(t *testing.T, fs vfs.FS, name, text string, sync bool) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, d *Disk) string {
	t.Helper()
	names, err := d.FS().List("/")
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, name := range names {
		out += name + " "
	}
	return out
}

func TestWhatWasSyncedOutlivesACrash(t *testing.T) {
	d := New()
	write(t, d.FS(), "/synced", "a", true)
	write(t, d.FS(), "/not", "b", false)
	if got := list(t, d.Crash(0, 1)); got != "synced " {
		t.Errorf("with nothing else: %s", got)
	}
	if got := list(t, d.Crash(100, 1)); got != "not synced " && got != "synced not " {
		t.Errorf("with everything: %s", got)
	}
}

func TestThePowerFailsOnce(t *testing.T) {
	d := New()
	var found []string
	d.FailAt(2, func() { found = append(found, list(t, d.Crash(100, 1))) }) // create is the first write, write the second
	write(t, d.FS(), "/a", "a", true)
	write(t, d.FS(), "/b", "b", true)
	if len(found) != 1 || found[0] != "a " {
		t.Errorf("found %q", found)
	}
	if n := d.Writes(); n != 6 {
		t.Errorf("%d writes", n)
	}
}

// A sync that was refused has lost what it was to keep, whatever later ones say; what is written after the disk is well again is kept.
func TestARefusedSyncLoses(t *testing.T) {
	d := New()
	fs := d.FS()
	f, err := fs.Create("/a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	d.Break(2, 1, full)
	if _, err := f.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, full) {
		t.Errorf("the disk refuses a sync with %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Errorf("the second sync says %v", err)
	}
	if hits := d.Refused(); len(hits) != 1 || hits[0].Path != "/a" {
		t.Errorf("refused %v", hits)
	}
	write(t, fs, "/b", "b", true)
	left := d.Crash(0, 1).FS()
	for name, want := range map[string]int64{"/a": 0, "/b": 1} {
		if info, err := left.Stat(name); err != nil || info.Size() != want {
			t.Errorf("after a power failure %s is %v %v, want %d bytes", name, info, err, want)
		}
	}
}
