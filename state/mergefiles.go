package state

import (
	"bytes"
	"context"
	"slices"

	"sluice/batch"
)

// A window that is a small part of a table leaves small files behind: its own, and what stays of files that it reached into. When a swap finds
// so many that lie beside each other, it merges them: they go and come in the version that it makes anyway, so that older versions have the
// files that they had, and no row is different. Each row is merged a few times at most before its file is not small any more.

// merge merges small files if there are many.
func (w *swapping) merge(ctx context.Context) error {
	if len(w.gone)+len(w.added) == 0 {
		return nil // no version is made
	}
	runs, n := w.smallFiles()
	if n < w.t.store.o.MergeAt {
		return nil
	}
	for _, run := range runs {
		if err := w.join(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// smallFiles finds the small files that have a small one beside them, in the order of their values.
func (w *swapping) smallFiles() (runs [][]*tableFile, n int) {
	var all []*tableFile
	for _, f := range w.live {
		if !slices.Contains(w.gone, f) {
			all = append(all, f)
		}
	}
	all = append(all, w.added...)
	slices.SortStableFunc(all, func(a, b *tableFile) int {
		return bytes.Compare(w.schema.boundsOf(a, w.laid).low, w.schema.boundsOf(b, w.laid).low)
	})
	small := func(f *tableFile) bool { return f.weight < w.t.store.o.SliceSize/2 }
	for len(all) > 0 {
		to := 0
		for to < len(all) && small(all[to]) {
			to++
		}
		if to > 1 {
			runs, n = append(runs, all[:to]), n+to
		}
		all = all[max(to, 1):]
	}
	return runs, n
}

// join makes files of a run of them.
func (w *swapping) join(ctx context.Context, run []*tableFile) error {
	scan := &Scan{store: w.t.store, schema: w.schema, ids: w.schema.visible(), files: slices.Clone(run)}
	defer scan.Close()
	out := w.t.newFileWriter(w.schema, false, func() (batch.Columns, error) { return scan.Next(0) })
	out.slicing = w.laid
	if err := out.write(ctx); err != nil {
		return err
	}
	for _, f := range run {
		if i := slices.Index(w.added, f); i >= 0 {
			w.added = slices.Delete(w.added, i, i+1)
			w.t.store.files.remove(f.id)
		} else {
			w.gone = append(w.gone, f)
		}
	}
	w.added = append(w.added, out.written...)
	return nil
}
