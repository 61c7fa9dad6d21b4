package state

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestAKeyOwnsTheRowsOfItsHighestSequence(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	table, err := s.Table(ticks)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, _, err = replace(t, table, f, 3, row{"a", 1, "x", 0}, row{"a", 1, "y", 1}, row{"", 7, "n", 2})
	ok(t, err)
	same(t, "first batch", contents(t, s, ticks.Name), "NULL,7,n", "a,1,x", "a,1,y")
	c, counts, err := replace(t, table, f, 6, row{"a", 2, "z", 3}, row{"", 6, "late", 4}, row{"b", 1, "b", 5})
	ok(t, err)
	if c.Replaced != 2 || counts.Late != 1 || counts.Written != 2 || c.Number != 1 || c.Version != 2 {
		t.Errorf("got %+v %+v", c, counts)
	}
	_, counts, err = replace(t, table, f, 8, row{"a", 2, "tie", 6}, row{"a", 1, "old", 7})
	ok(t, err)
	if counts.Tied != 1 || counts.Superseded != 1 {
		t.Errorf("got %+v", counts)
	}
	want := []string{"NULL,7,n", "a,2,tie", "a,2,z", "b,1,b"}
	same(t, "third batch", contents(t, s, ticks.Name), want...)
	closeChecked(t, s)
	s = open(t, fs)
	same(t, "after opening again", contents(t, s, ticks.Name), want...)
}
