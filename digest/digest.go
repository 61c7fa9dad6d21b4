// Package digest makes one number of a table: the sum, modulo 2^128, of a keyed 128-bit hash of every row (D-29).
//
// Two tables with the same columns and the same rows, each as often, have the same digest, in whatever order the rows
// come and however they are cut into batches. Rows are compared as keys are (batch.EncodeKeys): -0.0 is 0.0, all NaNs are
// one, a MAP is a set. The names and types of the columns go into the hash, so tables of different shape differ.
//
// It finds what went wrong by accident. It does not withstand somebody who makes up rows to collide. It is pure.
package digest

import (
	"encoding/hex"
	"math/bits"

	"github.com/zeebo/xxh3"

	"sluice/batch"
)

// Sum is the digest of a set of rows.
type Sum struct {
	Hi, Lo uint64
	Rows   int64
}

// String is 32 hexadecimal digits.
func (s Sum) String() string {
	b := xxh3.Uint128{Hi: s.Hi, Lo: s.Lo}.Bytes()
	return hex.EncodeToString(b[:])
}

// Plus is the digest of the rows of both.
func (s Sum) Plus(t Sum) Sum {
	lo, carry := bits.Add64(s.Lo, t.Lo, 0)
	hi, _ := bits.Add64(s.Hi, t.Hi, carry)
	return Sum{hi, lo, s.Rows + t.Rows}
}

// Minus is the digest of the rows of s without those of t.
func (s Sum) Minus(t Sum) Sum {
	lo, borrow := bits.Sub64(s.Lo, t.Lo, 0)
	hi, _ := bits.Sub64(s.Hi, t.Hi, borrow)
	return Sum{hi, lo, s.Rows - t.Rows}
}

// Hasher adds rows of one table to a Sum.
type Hasher struct {
	seed uint64
	row  []byte
	cols []*batch.Column
}

// New returns a Hasher for rows with the given columns.
func New(fields []batch.Field) *Hasher {
	return &Hasher{seed: xxh3.HashString(batch.DDL(plain(fields)))}
}

// plain drops what two tables of the same shape may differ in: what a column's comment says, and whether it must have a value.
func plain(fields []batch.Field) []batch.Field {
	out := make([]batch.Field, len(fields))
	for i, f := range fields {
		f.Type.Fields = plain(f.Type.Fields)
		out[i] = batch.Field{Name: f.Name, Type: f.Type}
	}
	return out
}

// Seed stands for the names and types of the columns: sums of Hashers with different seeds are not comparable.
func (h *Hasher) Seed() uint64 { return h.seed }

// Add adds rows to s.
func (h *Hasher) Add(s *Sum, rows *batch.Columns) {
	h.cols = rows.Refs(h.cols[:0])
	for i := range rows.Len {
		*s = s.Plus(h.hash(h.cols, i))
	}
}

// AddRow adds row i of a batch to s. The columns come in the order of the table's.
func (h *Hasher) AddRow(s *Sum, cols []*batch.Column, i int) { *s = s.Plus(h.hash(cols, i)) }

// Of is the digest of one row that is encoded already.
func Of(row []byte) Sum {
	sum := xxh3.Hash128(row)
	return Sum{sum.Hi, sum.Lo, 1}
}

// hash is the digest of a row alone.
func (h *Hasher) hash(cols []*batch.Column, i int) Sum {
	h.row = batch.AppendKey(h.row[:0], cols, i)
	sum := xxh3.Hash128Seed(h.row, h.seed)
	return Sum{sum.Hi, sum.Lo, 1}
}
