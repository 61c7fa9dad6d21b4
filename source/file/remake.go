package file

import (
	"slices"
	"sync"

	"sluice/batch"
	"sluice/fault"
	"sluice/source"
)

// A record of a file is kept as its bytes, without what separates records. One whose columns have their names from a header is
// nothing without it: so the header of the file is kept beside it, as a header of the record.

// headerName is what it is called there.
const headerName = "csv.header"

// headers are those of the files that the last few reads were of. What was read is worked on while the next is being read.
type headers struct {
	mu    sync.Mutex
	reads int
	of    map[string]header
}

type header struct {
	text []byte
	read int // the last one that was of the file
}

// keptReads is how many reads can be on their way at once, and one more.
const keptReads = 4

// next begins a read.
func (h *headers) next() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	for path, one := range h.of {
		if one.read <= h.reads-keptReads {
			delete(h.of, path)
		}
	}
}

// see notes that the read is of a file. A nil text is that it had before.
func (h *headers) see(path string, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text == nil {
		text = h.of[path].text
	} else {
		text = slices.Clone(text)
	}
	if h.of == nil {
		h.of = map[string]header{}
	}
	h.of[path] = header{text, h.reads}
}

// beside are the headers that a record of a file is kept with.
func (h *headers) beside(path string) []batch.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text := h.of[path].text; text != nil {
		return []batch.Header{{Key: headerName, Value: text}}
	}
	return nil
}

// Original implements source.Keeper.
func (s *Source) Original(rows *batch.Columns, row int, split string) batch.Bad {
	return batch.Bad{Value: append([]byte{}, rows.Col(source.RecordColumn).Text(row)...), Headers: s.headers.beside(split)}
}

// Remake implements source.Keeper.
func (s *Source) Remake(records []source.Kept) (batch.Columns, batch.Range, []batch.Bad, error) {
	covered, splits := source.Splits(records)
	c, set := s.columns, s.columns.newSet()
	if c.reader.Header != nil {
		defer s.closeFile() // its own header is read again with the next record of it
	}
	rows := 0
	var bad []batch.Bad
	for i := range records {
		k := &records[i]
		if i == 0 || splits[i] != splits[i-1] {
			f, err := fromMark(batch.Mark{Split: k.Split, ID: k.ID})
			if err != nil {
				return batch.Columns{}, batch.Range{}, nil, err
			}
			c.file(f, s.dir)
		}
		kept, err := s.remakeOne(&set, k)
		if of := c.reader.Tolerated; of != nil && kept {
			for _, column := range of.Column {
				covered.Errors.Add(splits[i], k.At, c.fields[c.decoded[column]].Name)
			}
		}
		if err != nil {
			bad = append(bad, batch.Bad{Split: k.Split, At: k.At, Time: k.Time, Key: k.Key, Value: k.Value, Headers: k.Headers, Kept: kept, Err: err})
		}
		if kept {
			set.pos.Split, set.pos.Offset, set.pos.Index = append(set.pos.Split, splits[i]), append(set.pos.Offset, k.At.At), append(set.pos.Index, k.At.Index)
			if c.record >= 0 {
				set.meta[c.record].AppendText(k.Value)
			}
			rows++
			c.describe(&set, rows)
		}
	}
	return c.output(&set, rows), covered, bad, nil
}

// remakeOne decodes a record and reports whether it is a row.
func (s *Source) remakeOne(set *columnSet, k *source.Kept) (row bool, err *fault.Error) {
	reader := &s.columns.reader
	if reader.Header != nil {
		at := slices.IndexFunc(k.Headers, func(h batch.Header) bool { return h.Key == headerName })
		if at < 0 {
			return false, fault.New(fault.HeaderMismatch, "the header of the file was not kept with the record")
		}
		if err := reader.Header(k.Headers[at].Value); err != nil {
			return false, fault.From(err)
		}
	}
	if reader.Decoder == nil {
		return true, nil
	}
	if bad := reader.Decoder.Decode([][]byte{k.Value}, set.decoded); len(bad) > 0 {
		return bad[0].Kept, bad[0].Err
	}
	return true, nil
}
