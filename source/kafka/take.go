package kafka

import (
	"cmp"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// taken are the records of one Read, in columns: what a decoder needs, and where to find the rest of a record.
type taken struct {
	values  [][]byte
	offsets []int64
	splits  []int32 // index in moves
	places  []place
	rows    []int32         // records that became rows
	null    batch.Positions // of records without a value that were left out
	errors  batch.ColumnErrors
	refused []refused         // records without a value that on_null_value refuses, such that are too large, and such whose headers cannot be read
	unread  []format.BadValue // records whose headers cannot be read and are NULL
	frames  []frame
	moves   []move
	record  []byte   // memory of appendParsed
	spent   [][]byte // decompressed batches that are used up; their memory is free at the next Read
}

// place is where a record begins: in a frame, at a byte.
type place struct {
	frame int32
	at    int32
}

// refused is a record that no row is made of.
type refused struct {
	split  int32
	offset int64
	place  place
	large  int64        // its size, where that is why
	err    *fault.Error // or why
}

func (r refused) compare(o refused) int {
	return cmp.Or(cmp.Compare(r.split, o.split), cmp.Compare(r.offset, o.offset))
}

// frame is an uncompressed batch that records were taken from.
type frame struct {
	batch recordBatch
	data  []byte
}

// move is what one Read did to one partition.
type move struct {
	p       *partition
	from    int64
	records int64
	bytes   int64
	nulls   int64
	lost    int64
	end     int64
	time    int64 // ms
}

// buffers is the library's pool for decompression. One goroutine uses it.
type buffers struct {
	decompressor kgo.Decompressor
	free         [][]byte
	size         int // capacity of free
}

const maxFree = 32 << 20

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (b *buffers) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	if n := len(b.free); n > 0 {
		out := b.free[n-1]
		b.free = b.free[:n-1]
		b.size -= cap(out)
		return out
	}
	return make([]byte, 0, 4*len(compressed))
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (b *buffers) PutDecompressBytes(buf []byte) {
	if b.size+cap(buf) <= maxFree {
		b.free = append(b.free, buf[:0])
		b.size += cap(buf)
	}
}

// take moves fetched records of the active partitions into the reading's records, within limit, and reports whether any
// position moved. Each partition gets its share of the rows; where a limit leaves partitions out, the next take begins
// with them, so that none is starved.
func (s *Source) take(limit batch.Limit) (moved bool) {
	r := &s.reading
	t := &r.records
	t.reset(&r.buffers)
	n := len(r.active)
	if n == 0 {
		return false
	}
	first := r.first % n
	rows, next := s.shares(limit.Rows, first)
	r.first = next
	left := int64(math.MaxInt64)
	if limit.Bytes > 0 {
		left = limit.Bytes
	}
	seam := 0 // rows and moves before the seam are of the partitions from first on
	moves := 0
	for i := range n {
		at := (first + i) % n
		if i == n-first {
			seam, moves = len(t.values), len(t.moves)
		}
		if left <= 0 {
			r.first = at
			break
		}
		s.takeFrom(r.active[at], rows[at], &left, limit.Record)
	}
	if first > 0 {
		t.swap(seam, moves)
	}
	return len(t.moves) > 0
}

// shares divides a number of rows among the active partitions: as evenly as what they have buffered allows, beginning at
// first. It returns also the first partition that has rows and got none, or 0.
func (s *Source) shares(rows, first int) (shares []int, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := s.reading.active
	n := len(active)
	shares, have := make([]int, n), make([]int, n)
	hungry := 0
	for i, p := range active {
		if rows == 0 {
			shares[i] = math.MaxInt
		} else if have[i] = p.buffered(); have[i] > 0 {
			hungry++
		}
	}
	for rows > 0 && hungry > 0 {
		each := max(1, rows/hungry)
		hungry = 0
		for i := range n {
			at := (first + i) % n
			give := min(each, have[at]-shares[at], rows)
			shares[at] += give
			rows -= give
			if have[at] > shares[at] {
				hungry++
			}
		}
	}
	for i := range n {
		if at := (first + i) % n; have[at] > 0 && shares[at] == 0 {
			return shares, at
		}
	}
	return shares, 0
}

// takeFrom takes at most rows records of one partition, and stops after the one that uses up left, or in front of what
// cannot be parsed. A record larger than most is a bad one, unless most is 0.
func (s *Source) takeFrom(p *partition, rows int, left *int64, most int64) {
	t := &s.reading.records
	m := move{p: p, from: p.pos - p.lost, lost: p.lost}
	index := int32(len(t.moves))
	p.frame = -1
	for {
		if p.left == 0 {
			p.pos = max(p.pos, min(p.empty, p.until))
			if p.pos >= p.until {
				break
			}
			if !s.open(p) {
				break
			}
			continue
		}
		if rows <= 0 || *left <= 0 {
			break
		}
		var rec record
		next, err := p.batch.parseRecord(&rec, p.data, p.at)
		if err != nil {
			s.fail(p, err)
			break
		}
		if rec.offset >= p.until {
			p.pos = p.until
			break
		}
		if rec.offset >= p.pos {
			size := int64(next - p.at)
			if most > 0 && size > most {
				t.tooLarge(p, &rec, index, size, &m)
			} else {
				t.add(p, &rec, index, s.opts.nulls, &m)
			}
			m.bytes += size
			*left -= size
			rows--
			p.pos = rec.offset + 1
		}
		p.at = next
		if p.left--; p.left == 0 {
			p.empty = p.batch.next
			t.spend(p)
		}
	}
	if p.pos != m.from {
		s.mu.Lock()
		m.end = p.end
		s.mu.Unlock()
		p.lost = 0
		t.moves = append(t.moves, m)
	}
}

// open makes the next fetched batch of a partition the one that records are taken from.
func (s *Source) open(p *partition) bool {
	s.mu.Lock()
	b, ok := p.pop()
	if ok {
		s.work.Broadcast() // there is room
	}
	s.mu.Unlock()
	if !ok {
		return false
	}
	if b.count == 0 || b.next <= p.pos {
		p.empty = b.next
		return true
	}
	data, err := s.reading.buffers.decompressor.Decompress(b.records, kgo.CompressionCodecType(b.codec))
	if err != nil {
		s.fail(p, err)
		return false
	}
	p.batch, p.data, p.at, p.left = b, data, 0, b.count
	return true
}

// fail makes the next Read stop at a partition's position. What was taken before is returned first.
func (s *Source) fail(p *partition, err error) {
	s.mu.Lock()
	p.err = corrupt(p, p.pos, err)
	p.queue, p.size = nil, 0
	p.data, p.left = nil, 0
	s.mu.Unlock()
	s.wake()
}

func corrupt(p *partition, offset int64, err error) error {
	return fault.New(fault.CorruptBatch, "%s cannot be read at offset %d", p.split, offset).Because(err).
		WithHint("check the producer and the broker's disk")
}

// add appends a record.
func (t *taken) add(p *partition, rec *record, split int32, nulls nullPolicy, m *move) {
	m.records++
	m.time = rec.time
	if rec.value == nil && nulls == ignoreNulls {
		m.nulls++
		t.null.Split, t.null.Offset, t.null.Index = append(t.null.Split, split), append(t.null.Offset, rec.offset), append(t.null.Index, 0)
		return
	}
	if at := t.placeOf(p); rec.value == nil && nulls == refuseNulls {
		t.refused = append(t.refused, refused{split: split, offset: rec.offset, place: at})
		return
	}
	t.values = append(t.values, rec.value)
	t.offsets = append(t.offsets, rec.offset)
	t.splits = append(t.splits, split)
	t.places = append(t.places, place{p.frame, int32(p.at)})
}

// tooLarge adds a record that no row is made of, since it would not fit in memory.
func (t *taken) tooLarge(p *partition, rec *record, split int32, size int64, m *move) {
	m.records++
	m.time = rec.time
	t.refused = append(t.refused, refused{split: split, offset: rec.offset, place: t.placeOf(p), large: size})
}

// placeOf is where the next record of a partition begins.
func (t *taken) placeOf(p *partition) place {
	if p.frame < 0 {
		p.frame = int32(len(t.frames))
		t.frames = append(t.frames, frame{p.batch, p.data})
	}
	return place{p.frame, int32(p.at)}
}

// spend notes that a batch is used up.
func (t *taken) spend(p *partition) {
	if p.batch.codec != 0 {
		t.spent = append(t.spent, p.data)
	}
	p.batch, p.data, p.frame = recordBatch{}, nil, -1
}

func (t *taken) reset(b *buffers) {
	for _, data := range t.spent {
		b.PutDecompressBytes(data)
	}
	clear(t.values) // they keep whole answers of the broker in memory
	clear(t.frames)
	t.values, t.offsets, t.splits, t.places = t.values[:0], t.offsets[:0], t.splits[:0], t.places[:0]
	t.null = batch.Positions{Split: t.null.Split[:0], Offset: t.null.Offset[:0], Index: t.null.Index[:0]}
	t.frames, t.moves, t.spent, t.refused = t.frames[:0], t.moves[:0], t.spent[:0], t.refused[:0]
}

// swap puts the records before the seam behind the others, so that all are in the order of the splits' names.
func (t *taken) swap(seam, moves int) {
	n := int32(len(t.moves))
	for i, split := range t.splits {
		t.splits[i] = (split + n - int32(moves)) % n
	}
	for i, split := range t.null.Split {
		t.null.Split[i] = (split + n - int32(moves)) % n
	}
	for i := range t.refused {
		t.refused[i].split = (t.refused[i].split + n - int32(moves)) % n
	}
	t.values = rotate(t.values, seam)
	t.offsets = rotate(t.offsets, seam)
	t.splits = rotate(t.splits, seam)
	t.places = rotate(t.places, seam)
	t.moves = rotate(t.moves, moves)
}

func rotate[T any](list []T, seam int) []T {
	return slices.Concat(list[seam:], list[:seam])
}

// parse parses a record again, for what is not kept in columns.
func (t *taken) parse(at place, r *record) error {
	f := &t.frames[at.frame]
	_, err := f.batch.parseRecord(r, f.data, int(at.at))
	return err
}
