package state

import (
	"encoding/binary"
	"errors"
)

// errShort is found where bytes of the store end too early or hold an impossible number.
var errShort = errors.New("state: value is cut short or damaged")

// reader takes values off the front of bytes. The first failure sticks; what is read after it is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, errShort }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads a number of things that take at least size bytes each, so that damage cannot ask for endless memory.
func (r *reader) count(size int) int {
	v := r.uvarint()
	if v > uint64(len(r.b))/uint64(max(1, size)) {
		r.fail()
		return 0
	}
	return int(v)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// take returns the next n bytes, which belong to what is read.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// text reads a length and that many bytes.
func (r *reader) text() []byte { return r.take(r.count(1)) }

// done is the outcome, when nothing may be left.
func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		return errShort
	}
	return r.err
}

func appendText[T ~string | ~[]byte](dst []byte, v T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}
