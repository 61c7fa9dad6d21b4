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

// Hasher adds rows of one table to a Sum.
type Hasher struct {
	seed uint64
	rows batch.Keys
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
		out[i] = batch.Field{Name: f.Name, Type: f.Type}
	}
	return out
}

// Add adds rows to s.
func (h *Hasher) Add(s *Sum, rows *batch.Columns) {
	h.encode(rows)
	for i := range rows.Len {
		hash := h.row(i)
		var carry uint64
		s.Lo, carry = bits.Add64(s.Lo, hash.Lo, 0)
		s.Hi, _ = bits.Add64(s.Hi, hash.Hi, carry)
	}
	s.Rows += int64(rows.Len)
}

func (h *Hasher) encode(rows *batch.Columns) {
	h.cols = h.cols[:0]
	for i := range rows.Cols {
		h.cols = append(h.cols, &rows.Cols[i])
	}
	batch.EncodeKeys(&h.rows, h.cols...)
}

func (h *Hasher) row(i int) xxh3.Uint128 { return xxh3.Hash128Seed(h.rows.At(i), h.seed) }
