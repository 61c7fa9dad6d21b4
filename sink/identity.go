package sink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// Identity is what a target remembers of the last batch it accepted from a flow (D-18).
type Identity struct {
	Store      string
	Epoch      uint64
	Generation uint64
	Number     uint64
}

// IdentityOf is the identity of a batch.
func IdentityOf(id batch.ID) Identity {
	return Identity{id.Store, id.Epoch, id.Generation, id.Number}
}

// String is store/epoch/generation/number.
func (i Identity) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", i.Store, i.Epoch, i.Generation, i.Number)
}

// ParseIdentity reads what String wrote.
func ParseIdentity(text string) (i Identity, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[0] == "" {
		return i, false
	}
	i.Store = parts[0]
	for at, to := range []*uint64{&i.Epoch, &i.Generation, &i.Number} {
		n, err := strconv.ParseUint(parts[at+1], 10, 64)
		if err != nil {
			return i, false
		}
		*to = n
	}
	return i, true
}

// Holds reports whether the target has the batch already, so that it is to be dropped.
func (i Identity) Holds(id batch.ID) bool {
	return i.Generation == id.Generation && i.Number >= id.Number
}

// Admit checks whether a flow may write its batch next to a target that remembers i. running says that the flow has
// written to the target since it was opened: whoever is ahead of it then has taken over. A target that has a batch of that
// number is ahead, too, unless the flow has sent it.
func (i Identity) Admit(target string, next batch.ID, running bool) error {
	ahead := i.Generation > next.Generation || i.Generation == next.Generation && (i.Number > next.Number || i.Number == next.Number && !i.sentAs(next))
	switch {
	case i.Store != next.Store:
		return fault.New(fault.SinkOtherStore, "%s was written by flow %s of pipeline %s from the store %s, this is the store %s", target, next.Flow, next.Pipeline, i.Store, next.Store).
			WithHint("is another daemon running this pipeline? If its store is gone, processor sink adopt makes the target this one's")
	case running && (ahead || i.Epoch > next.Epoch):
		return fault.New(fault.Fenced, "flow %s was taken over by a newer run: %s has batch %d of generation %d, epoch %d", next.Flow, target, i.Number, i.Generation, i.Epoch).
			WithHint("two daemons run on copies of one store; stop one of them")
	case ahead:
		return fault.New(fault.SinkAhead, "%s has batch %d of generation %d, the next batch of flow %s is %d of generation %d", target, i.Number, i.Generation, next.Flow, next.Number, next.Generation).
			WithHint("the store is an older backup or a copy. Restore the newer one; if there is none, processor sink adopt makes the target this one's")
	case i.Epoch > next.Epoch:
		return fault.New(fault.SinkAhead, "%s was written at epoch %d of the store, which is at epoch %d now", target, i.Epoch, next.Epoch).
			WithHint("the store is an older backup or a copy. Restore the newer one; if there is none, processor sink adopt makes the target this one's")
	}
	return nil
}

// sentAs reports whether the target may have got its last batch as the given one, of the same number: if not, a copy of the store
// has numbered rows of its own.
func (i Identity) sentAs(next batch.ID) bool {
	return next.Replay && (next.Tried == nil || slices.Contains(next.Tried, i.Epoch))
}

// Follows checks that a target that was admitted remembers the batch before next, or next itself. One that remembers an
// older one has lost what it had accepted.
func (i Identity) Follows(target string, next batch.ID) error {
	if next.Number == 0 || i.Generation == next.Generation && i.Number+1 >= next.Number {
		return nil
	}
	return fault.New(fault.SinkIdentityLost, "the store has sent batches up to %d of generation %d of flow %s to %s, which remembers batch %d of generation %d",
		next.Number-1, next.Generation, next.Flow, target, i.Number, i.Generation).
		WithHint("the target lost batches that it had accepted, or was restored from a backup. A full refresh sends everything again; processor sink adopt goes on without them")
}

// IdentityLost is the error for a target that remembers nothing of batches the store has sent.
func IdentityLost(target string, next batch.ID) error {
	return fault.New(fault.SinkIdentityLost, "the store has sent batches up to %d of flow %s to %s, which remembers none", next.Number-1, next.Flow, target).
		WithHint("the target was emptied or replaced, or was idle for long. processor sink adopt goes on after the last batch; a full refresh sends everything again")
}
