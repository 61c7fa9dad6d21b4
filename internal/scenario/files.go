package scenario

import "github.com/cockroachdb/pebble/v2/vfs"

// lasting is a disk from which nothing is removed: the files of tables lie on a real one, and what a daemon does after its power was cut must
// not take them from the next.
type lasting struct{ vfs.FS }

func (lasting) Remove(string) error { return nil }
