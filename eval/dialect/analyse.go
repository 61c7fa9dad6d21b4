package dialect

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

func analyse(q *syntax.Query, scope Scope, opt Options) (*Analysis, fault.List) {
	b := &binder{catalog: scope, opt: opt, reported: map[string]bool{}}
	zone, err := newZone(opt.Zone)
	if err != nil {
		return nil, fault.List{fault.New(fault.InvalidTimeZone, "there is no time zone %s", opt.Zone).At(q.Pos)}
	}
	b.zone = zone
	root := b.query(q, nil)
	if len(b.problems) > 0 {
		b.problems.Sort()
		return nil, b.problems
	}
	a := &Analysis{query: &bound{binder: b, root: root}}
	var n needs
	n.query(root)
	n.all(root)
	for _, o := range root.outputs {
		a.Output = append(a.Output, batch.Field{Name: o.name, Type: o.value.typ, NotNull: o.value.notNull})
	}
	a.Reads = n.reads()
	a.Clock = n.marks&clocked != 0
	a.Unordered = n.marks&unordered != 0
	return a, nil
}
