package flow

import (
	"slices"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/plan"
	"sluice/replacewhere"
	"sluice/state"
)

// prune finds the files of the tables which the query reads that have no row from which one of the window is made (RW-03, RW-18).
func (w *updating) prune() error {
	for _, l := range w.Window.Lookups {
		files, err := w.snapshot.Files(l.Table.Name)
		if err != nil {
			return err
		}
		skip, err := w.needless(l, files)
		if err != nil {
			return err
		}
		if w.skipped = append(w.skipped, skip); len(files) > 0 {
			w.read = append(w.read, eventlog.SourceInformation{Name: l.Table.Display, Files: len(files), Skipped: len(skip)})
		}
	}
	return nil
}

// needless are the files of a table of which no row is needed.
func (w *updating) needless(l plan.Lookup, files []state.FileInfo) (map[state.FileID]bool, error) {
	tree := w.Window.Query.Window.Sources[l.Read]
	if tree == nil || len(files) == 0 {
		return nil, nil
	}
	info, err := w.snapshot.Table(l.Table.Name)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(l.Table.Fields)) // which of the stored columns each column is; -1: none, as long as a full refresh is not done
	for i, f := range l.Table.Fields {
		at[i] = slices.IndexFunc(info.Fields, func(have batch.Field) bool { return have.Name == f.Name && have.Type.Equal(f.Type) })
	}
	skip := map[state.FileID]bool{}
	for _, f := range files {
		stored := Statistics(&f)
		stats := &replacewhere.Stats{Rows: f.Rows, Columns: make([]replacewhere.Column, len(at))}
		for i, j := range at {
			if j >= 0 {
				stats.Columns[i] = stored.Columns[j]
			}
		}
		if tree.Over(stats, w.values) == replacewhere.Never {
			skip[f.ID] = true
		}
	}
	return skip, nil
}
