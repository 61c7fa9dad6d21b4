package state

import (
	"encoding/json"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	memory "sluice/internal/disk"
)

// sickness is how the disk fails in the life of a store.
type sickness struct {
	At       int           // the write at which it begins
	Writes   int           // how many are refused before the disk is well again
	Errno    syscall.Errno // with which error
	Survives int           // percent of what was not synced that the next start finds
	Out      string        // folder for the outcome
}

// outcome is what a process says of the end of its store.
type outcome struct {
	Refused              []string // operations
	Told                 string   // the reason that Options.OnFault got
	Acknowledged, AtWork int      // steps
}

const sicknessVariable = "SLUICE_TEST_SICK_DISK"

// TestTheDiskRefusesAWrite lets the disk refuse the k-th write, for every k, in the life of a store (see TestCrashAtEveryWrite): with
// EIO, once; with ENOSPC, for three writes, since space comes back; and so that a sync that is refused has lost what it was to keep,
// whatever later ones say. The store has to end, with a coded reason, and its process with it: so each life is one of a process
// of its own. A refusal of which nobody takes notice fails the test. What the next start finds is exactly what the store was after a step:
// not before the last one acknowledged, and not after the one at work; and the store goes on from there to the same end.
func TestTheDiskRefusesAWrite(t *testing.T) {
	if os.Getenv(sicknessVariable) != "" {
		t.Skip("this is the process of one life")
	}
	want := wholeLife(t, steps)
	for _, c := range []struct {
		name   string
		sick   sickness
		stride int
	}{
		{"EIO", sickness{Writes: 1, Errno: syscall.EIO, Survives: 0}, 5},
		{"EIO, what was not synced is there", sickness{Writes: 1, Errno: syscall.EIO, Survives: 100}, 5},
		{"ENOSPC that goes away", sickness{Writes: 3, Errno: syscall.ENOSPC, Survives: 50}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("SLUICE_SOAK") == "1" {
				c.stride = 1
			}
			told, refused := 0, map[string]int{}
			for k := 1; ; k += c.stride {
				s := c.sick
				s.At, s.Out = k, t.TempDir()
				o := s.live(t)
				if len(o.Refused) == 0 {
					break // there are not so many writes
				}
				refused[o.Refused[0]]++
				if o.Told != "" {
					told++
				}
				if complaint := s.judge(t, o, want); complaint != "" {
					t.Fatalf("write %d (%v, %s): %s", k, o.Refused, o.Told, complaint)
				}
			}
			t.Logf("%d times told, refused: %v", told, refused)
			if told == 0 {
				t.Error("nobody was ever told")
			}
		})
	}
}

// judge says what is wrong with the end of a store and what it left.
func (s sickness) judge(t *testing.T, o outcome, want []string) string {
	if o.Told == "" && !bearable(o.Refused) {
		return "nobody took notice"
	}
	if o.Told != "" && !strings.Contains(o.Told, "STORE_FAILED") {
		return "the reason has another code"
	}
	left := vfs.NewMem()
	if _, err := vfs.Clone(vfs.Default, left, filepath.Join(s.Out, "db"), "db"); err != nil {
		t.Fatal(err)
	}
	return recovered(t, left, 1<<20, &power{acknowledged: o.Acknowledged, atWork: o.AtWork}, steps, want)
}

// bearable reports refusals that cost nothing: a file that is not needed any more and could not be removed is removed by a later start.
func bearable(refused []string) bool {
	for _, op := range refused {
		if op != "remove" {
			return false
		}
	}
	return true
}

// live runs one life in a process of its own.
func (s sickness) live(t *testing.T) outcome {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestALifeOnASickDisk$", "-test.count=1")
	child.Env = append(os.Environ(), sicknessVariable+"="+string(text))
	said, failed := child.CombinedOutput()
	var o outcome
	text, err = os.ReadFile(filepath.Join(s.Out, "outcome"))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatalf("%+v: %v\n%v\n%s", s, err, failed, said)
	}
	if o.Told == "" && failed != nil { // an error that was returned: at the start of a store, or at its end
		o.Told = string(said)
	}
	return o
}

// TestALifeOnASickDisk is the process of TestTheDiskRefusesAWrite.
func TestALifeOnASickDisk(t *testing.T) {
	text := os.Getenv(sicknessVariable)
	if text == "" {
		t.Skip("it is run by TestTheDiskRefusesAWrite")
	}
	var s sickness
	ok(t, json.Unmarshal([]byte(text), &s))
	d, p := memory.New(), &power{}
	var once sync.Once
	end := func(told string) {
		once.Do(func() {
			ok(t, s.leave(d, p, told))
			if told != "" {
				os.Exit(1) // as the daemon does
			}
		})
	}
	defer end("")
	l := &life{t: t, fs: d.FS(), floors: 1 << 20, fatal: func(err error) { end(err.Error()) }}
	d.Break(s.At, s.Writes, &os.PathError{Op: "write", Path: "db", Err: s.Errno})
	l.open(0)
	l.goThrough(steps, p, false)
	l.close()
	p.acknowledge(len(steps))
}

// leave writes down the outcome and what a next start finds.
func (s sickness) leave(d *memory.Disk, p *power, told string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := outcome{Told: told, Acknowledged: p.acknowledged, AtWork: p.atWork}
	for _, op := range d.Refused() {
		o.Refused = append(o.Refused, opNames[op.Kind])
	}
	if _, err := vfs.Clone(d.Crash(s.Survives, uint64(s.At)).FS(), vfs.Default, "db", filepath.Join(s.Out, "db")); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Out, "outcome"), text, 0o600)
}

var opNames = map[errorfs.OpKind]string{
	errorfs.OpCreate: "create", errorfs.OpLink: "link", errorfs.OpRemove: "remove", errorfs.OpRemoveAll: "remove", errorfs.OpRename: "rename",
	errorfs.OpReuseForWrite: "reuse", errorfs.OpMkdirAll: "mkdir", errorfs.OpLock: "lock", errorfs.OpFileClose: "close", errorfs.OpFileWrite: "write",
	errorfs.OpFileWriteAt: "write at", errorfs.OpFileSync: "sync", errorfs.OpFileSyncData: "sync data", errorfs.OpFileSyncTo: "sync to",
	errorfs.OpFileFlush: "flush", errorfs.OpFilePreallocate: "preallocate",
}
