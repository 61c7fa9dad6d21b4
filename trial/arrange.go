package trial

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// variant is how a run differs from the reference run, all of it made of a seed.
type variant struct {
	seed      uint64
	shuffled  bool
	withinKey bool
	limit     int // records in a batch
	kills     int
	gap       int // most steps from one kill to the next
	dup       float64
}

// reference is the run in which nothing happens.
var reference = variant{limit: unlimitedRows}

// mostBatches is into how many batches the input of a flow is cut, about; into more where there are to be many kills, which could
// not be spread otherwise.
const mostBatches = 12

// vary draws how a run goes whose flows read as many records as the reference run's did.
func vary(o Options, seed uint64, ref *outcome) variant {
	rng := rand.New(rand.NewPCG(seed, 1))
	cuts := 1 + rng.IntN(max(mostBatches, 2*o.Kill))
	v := variant{seed: seed, shuffled: true, withinKey: o.WithinKey, kills: o.Kill, dup: o.Dup}
	v.limit = max(1, (int(ref.most())+cuts-1)/cuts)
	v.gap = max(1, 2*ref.steps(v.limit)/(o.Kill+1)-1) // half of it on average: the last kill comes near the end
	return v
}

// steps is at about how many moments the power could fail in a run with batches of so many records.
func (o *outcome) steps(limit int) (steps int) {
	for flow, read := range o.read {
		batches := max(1, (int(read)+limit-1)/limit)
		if o.sinks[flow] != nil {
			batches *= 3 // before the sink has a batch, after it, and when the store knows
		}
		steps += batches
	}
	return steps
}

// partitions that a topic has in a rehearsed run.
var partitions = []int32{1, 2, 3, 5, 8}

// arrange gives the records of every topic another order and other partitions. A key keeps its partition, and the order of its
// records unless that is to change, too; records without a key have no order to keep (D-23). What happens to a record depends on
// nothing that is left out of only: topics of which fewer records are kept have those in the same order.
func arrange(topics map[string]Topic, v variant, only map[string][]bool) map[string]Topic {
	out := map[string]Topic{}
	for name, t := range topics {
		arranged, order := t, identity(len(t.Records))
		if v.shuffled {
			arranged, order = shuffle(name, t, v)
		}
		out[name] = pick(arranged, order, only[name])
	}
	return out
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// shuffle returns a topic in another order, and which record of t stands where.
func shuffle(name string, t Topic, v variant) (Topic, []int) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(v.seed, h.Sum64()))
	out := Topic{Partitions: partitions[rng.IntN(len(partitions))], Records: make([]Record, len(t.Records))}
	order := rng.Perm(len(t.Records))
	if !v.withinKey {
		keepOrder(t, order)
	}
	home := map[string]int32{} // partition of a key
	for i, from := range order {
		r := t.Records[from]
		p := rng.Int32N(out.Partitions)
		if r.Key != nil {
			if at, ok := home[string(r.Key)]; ok {
				p = at
			}
			home[string(r.Key)] = p
		}
		r.Partition = p
		out.Records[i] = r
	}
	return out, order
}

// keepOrder sorts the records of each key among the places that they have.
func keepOrder(t Topic, order []int) {
	places := map[string][]int{}
	for place, from := range order {
		if key := t.Records[from].Key; key != nil {
			places[string(key)] = append(places[string(key)], place)
		}
	}
	for _, at := range places {
		records := make([]int, len(at))
		for i, place := range at {
			records[i] = order[place]
		}
		slices.SortFunc(records, cmp.Compare)
		for i, place := range at {
			order[place] = records[i]
		}
	}
}

// pick leaves out the records that are not kept; nil keeps all.
func pick(t Topic, order []int, keep []bool) Topic {
	if keep == nil {
		return t
	}
	out := Topic{Partitions: t.Partitions}
	for place, from := range order {
		if keep[from] {
			out.Records = append(out.Records, t.Records[place])
		}
	}
	return out
}
