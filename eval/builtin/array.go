package builtin

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"sluice/batch"
	"sluice/fault"
)

// Arrays are compared by the canonical order of values (D-36), which is Spark's: null lowest at every depth, NaN highest, -0.0
// equal to 0.0.
var arrays = map[string]func(*Spec) (Function, error){
	"array_distinct": withKeys(arrayDistinct), "array_sort": newSort(false, true), "sort_array": newSortArray,
	"array_max":      withKeys(func(k *keyed, args []batch.Column, i int, out *batch.Builder) { extreme(k, args, i, out, 1) }),
	"array_min":      withKeys(func(k *keyed, args []batch.Column, i int, out *batch.Builder) { extreme(k, args, i, out, -1) }),
	"array_position": withKeys(arrayPosition), "array_remove": withKeys(arrayRemove),
	"array_union": withKeys(arrayUnion), "array_except": withKeys(arrayExcept), "array_intersect": withKeys(arrayIntersect),
	"arrays_overlap": withKeys(arraysOverlap), "array_compact": plain(arrayCompact), "flatten": plain(flattenArray), "slice": plain(slice),
	"sequence": newSequence, "array_repeat": free(arrayRepeat), "array_insert": free(arrayInsert), "array_concat": plain(arrayConcat),
	"percentile": newPercentile, "arrays_zip": plain(arraysZip),
}

// withKeys is the maker of a strict function that compares elements.
func withKeys(f func(k *keyed, args []batch.Column, i int, out *batch.Builder)) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) {
		k := &keyed{}
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			k.reset()
			f(k, args, i, out)
			return nil
		}), nil
	}
}

func arrayDistinct(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a := listAt(&args[0], i)
	k.add(a)
	k.firsts(0, a.len(), func(n int) { a.append(out, a.from+n) })
	out.AppendNested()
}

// newSort sorts; nulls come last or first. Equal elements keep their order upwards, and downwards too.
func newSort(down, nullsLast bool) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) {
		var k keyed
		var order []int
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			a := listAt(&args[0], i)
			k.reset()
			nulls := 0
			for j := a.from; j < a.to; j++ {
				if a.elements.IsNull(j) {
					nulls++
				}
			}
			k.add(a)
			order = k.sorted(order, a.len())
			appendNulls(out.Child(0), nulls, !nullsLast)
			present := order[nulls:]
			if !down {
				for _, n := range present {
					a.append(out, a.from+n)
				}
			}
			for end := len(present); down && end > 0; { // runs of equal elements, from the last one on
				start := end - 1
				for start > 0 && string(k.at(present[start-1])) == string(k.at(present[end-1])) {
					start--
				}
				for _, n := range present[start:end] {
					a.append(out, a.from+n)
				}
				end = start
			}
			appendNulls(out.Child(0), nulls, nullsLast)
			out.AppendNested()
			return nil
		}), nil
	}
}

func appendNulls(out *batch.Builder, n int, here bool) {
	for range n {
		if here {
			out.AppendNull()
		}
	}
}

// newSortArray has nulls first upwards and last downwards.
func newSortArray(s *Spec) (Function, error) {
	down := s.Options["down"] == "true"
	return newSort(down, down)(s)
}

// extreme is the largest (1) or smallest (-1) element that is not null.
func extreme(k *keyed, args []batch.Column, i int, out *batch.Builder, sign int) {
	a := listAt(&args[0], i)
	k.add(a)
	best := -1
	for n := range a.len() {
		if a.elements.IsNull(a.from + n) {
			continue
		}
		if best < 0 || sign > 0 && string(k.at(n)) > string(k.at(best)) || sign < 0 && string(k.at(n)) < string(k.at(best)) {
			best = n
		}
	}
	if best < 0 {
		out.AppendNull()
	} else {
		out.AppendFrom(a.elements, a.from+best)
	}
}

func arrayPosition(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a := listAt(&args[0], i)
	k.add(a)
	k.one([]*batch.Column{&args[1]}, i)
	place := int64(0)
	for n := range a.len() {
		if string(k.at(n)) == string(k.at(a.len())) {
			place = int64(n) + 1
			break
		}
	}
	batch.Append(out, place)
}

func arrayRemove(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a := listAt(&args[0], i)
	k.add(a)
	k.one([]*batch.Column{&args[1]}, i)
	for n := range a.len() {
		if string(k.at(n)) != string(k.at(a.len())) {
			a.append(out, a.from+n)
		}
	}
	out.AppendNested()
}

func both(k *keyed, args []batch.Column, i int) (a, b list) {
	a, b = listAt(&args[0], i), listAt(&args[1], i)
	k.add(a)
	k.add(b)
	return a, b
}

func arrayUnion(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a, b := both(k, args, i)
	k.firsts(0, a.len()+b.len(), func(n int) {
		if n < a.len() {
			a.append(out, a.from+n)
		} else {
			b.append(out, b.from+n-a.len())
		}
	})
	out.AppendNested()
}

func arrayExcept(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a, b := both(k, args, i)
	keep(k, a, b, out, false)
}

func arrayIntersect(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a, b := both(k, args, i)
	keep(k, a, b, out, true)
}

// keep appends the elements of a that are among those of b, or are not, each once.
func keep(k *keyed, a, b list, out *batch.Builder, among bool) {
	n, m := a.len(), b.len()
	var firsts []int
	k.firsts(0, n, func(j int) { firsts = append(firsts, j) })
	member := k.members(n, n+m)
	for _, j := range firsts {
		if member(j) == among {
			a.append(out, a.from+j)
		}
	}
	out.AppendNested()
}

// arraysOverlap is null where no element is shared that is not null, but a null might be.
func arraysOverlap(k *keyed, args []batch.Column, i int, out *batch.Builder) {
	a, b := both(k, args, i)
	n := a.len()
	member := k.members(n, n+b.len())
	nulls := false
	for j := range n {
		null := a.elements.IsNull(a.from + j)
		nulls = nulls || null
		if !null && member(j) {
			out.AppendBool(true)
			return
		}
	}
	for j := b.from; j < b.to; j++ {
		nulls = nulls || b.elements.IsNull(j)
	}
	if nulls && n > 0 && b.len() > 0 {
		out.AppendNull()
	} else {
		out.AppendBool(false)
	}
}

func arrayCompact(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	a := listAt(&args[0], i)
	for j := a.from; j < a.to; j++ {
		if !a.elements.IsNull(j) {
			a.append(out, j)
		}
	}
	out.AppendNested()
	return nil
}

// flattenArray is null where an array inside is.
func flattenArray(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	a := listAt(&args[0], i)
	for j := a.from; j < a.to; j++ {
		if a.elements.IsNull(j) {
			out.AppendNull()
			return nil
		}
	}
	for j := a.from; j < a.to; j++ {
		inner := listAt(a.elements, j)
		for e := inner.from; e < inner.to; e++ {
			inner.append(out, e)
		}
	}
	out.AppendNested()
	return nil
}

// arraysZip makes a struct of the elements at each place, NULL where an array has none.
func arraysZip(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	longest := 0
	for c := range args {
		longest = max(longest, listAt(&args[c], i).len())
	}
	rows := out.Child(0)
	for n := range longest {
		for c := range args {
			if a := listAt(&args[c], i); n < a.len() {
				rows.Child(c).AppendFrom(a.elements, a.from+n)
			} else {
				rows.Child(c).AppendNull()
			}
		}
		rows.AppendNested()
	}
	out.AppendNested()
	return nil
}

func arrayConcat(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	for c := range args {
		a := listAt(&args[c], i)
		for j := a.from; j < a.to; j++ {
			a.append(out, j)
		}
	}
	out.AppendNested()
	return nil
}

// slice takes so many elements from a position on, which counts from 1, or from the end where it is negative.
func slice(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	a, start, n := listAt(&args[0], i), int32At(&args[1], i), int32At(&args[2], i)
	if start == 0 {
		return fault.New(fault.InvalidParameter, "slice starts at 0; the first element is 1")
	}
	if n < 0 {
		return fault.New(fault.InvalidParameter, "slice takes %d elements", n)
	}
	if start < 0 {
		start += a.len()
	} else {
		start--
	}
	for j := start; start >= 0 && j < min(start+n, a.len()); j++ {
		a.append(out, a.from+j)
	}
	out.AppendNested()
	return nil
}

func arrayRepeat(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	if args[1].IsNull(i) {
		out.AppendNull()
		return nil
	}
	n := int32At(&args[1], i)
	if n > maxText {
		return tooLong("an array of %d elements", n)
	}
	for range n {
		out.Child(0).AppendFrom(&args[0], i)
	}
	out.AppendNested()
	return nil
}

// arrayInsert puts an element before a position, which counts from 1, or behind one that counts from the end. Where the array
// is too short, nulls fill it up.
func arrayInsert(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	if args[0].IsNull(i) || args[1].IsNull(i) {
		out.AppendNull()
		return nil
	}
	a, at := listAt(&args[0], i), int32At(&args[1], i)
	n, before := a.len(), 0 // nulls in front of the array
	switch {
	case at == 0:
		return fault.New(fault.IndexOfZero, "the index is 0; the first element is 1")
	case at > 0:
		at--
	default:
		if at += n + 1; at < 0 {
			before, at = -at, 0
		}
	}
	if max(before, at) > maxText {
		return tooLong("an array of %d elements", max(before, at))
	}
	elements := out.Child(0)
	for j := range max(n, at) + 1 {
		switch {
		case j == at:
			elements.AppendFrom(&args[2], i)
			for range before {
				elements.AppendNull()
			}
		case j < at && j < n:
			a.append(out, a.from+j)
		case j > at:
			a.append(out, a.from+j-1)
		default:
			elements.AppendNull()
		}
	}
	out.AppendNested()
	return nil
}

// newSequence counts from one number or day to another, with a step of 1 in the direction of the end, or of the third
// argument; days also by months, the option "months".
func newSequence(s *Spec) (Function, error) {
	months := 0
	if text := s.Options["months"]; text != "" {
		months = atoi(text)
	}
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		start, stop := args[0].Int(i), args[1].Int(i)
		step := int64(1)
		switch {
		case months != 0:
			step = int64(months)
		case len(args) > 2:
			step = args[2].Int(i)
		case stop < start:
			step = -1
		}
		if step == 0 && start != stop || step > 0 && start > stop || step < 0 && start < stop {
			return fault.New(fault.InvalidParameter, "a sequence from %d to %d has no step %d", start, stop, step)
		}
		if months == 0 && step != 0 && distance(start, stop)/magnitude(step) > maxText {
			return tooLong("a sequence from %d to %d", start, stop)
		}
		for n, v := int64(1), start; step > 0 && v <= stop || step < 0 && v >= stop || v == stop; n++ {
			out.Child(0).AppendInt(v)
			next := v + step
			if months != 0 {
				next = int64(plusMonths(int32(start), int(n)*months))
			}
			if v == stop || step > 0 && next < v || step < 0 && next > v {
				break
			}
			v = next
		}
		out.AppendNested()
		return nil
	}), nil
}

// distance and magnitude are exact for all of int64.
func distance(a, b int64) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(b) - uint64(a)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// inOrder compares as Java does: NaN last, -0.0 in front of 0.0.
func inOrder(x, y float64) int {
	if x == 0 && y == 0 {
		return cmp.Compare(1/x, 1/y)
	}
	return -cmp.Compare(-x, -y)
}

// newPercentile is the value at the option "fraction" of an array of DOUBLE without nulls, between two of them in proportion;
// NULL for an empty one.
func newPercentile(s *Spec) (Function, error) {
	fraction, err := strconv.ParseFloat(s.Options["fraction"], 64)
	var sorted []float64
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		a := listAt(&args[0], i)
		sorted = append(sorted[:0], batch.Values[float64](a.elements)[a.from:a.to]...)
		slices.SortFunc(sorted, inOrder)
		if len(sorted) == 0 {
			out.AppendNull()
			return nil
		}
		at := float64(len(sorted)-1) * fraction
		low, high := math.Floor(at), math.Ceil(at)
		x, y := sorted[int(low)], sorted[int(high)]
		if low != high && x != y {
			x = (high-at)*x + (at-low)*y
		}
		batch.Append(out, x)
		return nil
	}), err
}
