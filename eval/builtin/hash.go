package builtin

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"math/bits"

	"sluice/batch"
	"sluice/fault"
)

var hashes = map[string]func(*Spec) (Function, error){
	"hash": func(*Spec) (Function, error) { return hashing(murmur{}), nil }, "xxhash64": func(*Spec) (Function, error) { return hashing(xx{}), nil },
	"crc32": plain(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		batch.Append(out, int64(crc32.ChecksumIEEE(args[0].Text(i))))
		return nil
	}),
	"sha2": newSHA2,
}

func newSHA2(s *Spec) (Function, error) {
	var text [2 * sha512.Size]byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		var n int
		switch x := args[0].Text(i); s.Options["bits"] {
		case "224":
			sum := sha256.Sum224(x)
			n = hex.Encode(text[:], sum[:])
		case "384":
			sum := sha512.Sum384(x)
			n = hex.Encode(text[:], sum[:])
		default:
			sum := sha512.Sum512(x)
			n = hex.Encode(text[:], sum[:])
		}
		out.AppendText(text[:n])
		return nil
	}), nil
}

// hasher is one of Spark's hashes: each value is hashed with that of the values before it as the seed.
type hasher interface {
	word(v uint32, seed uint64) uint64
	long(v uint64, seed uint64) uint64
	bytes(b []byte, seed uint64) uint64
	append(out *batch.Builder, h uint64)
}

const hashSeed = 42

// hashing hashes the arguments one after the other; NULL changes nothing.
func hashing[H hasher](h H) Function {
	return func(args []batch.Column, rows int, out *batch.Builder) *fault.Error {
		for i := range rows {
			seed := uint64(hashSeed)
			for a := range args {
				seed = hashValue(h, &args[a], i, seed)
			}
			h.append(out, seed)
		}
		return nil
	}
}

func hashValue[H hasher](h H, c *batch.Column, i int, seed uint64) uint64 {
	if c.IsNull(i) {
		return seed
	}
	switch c.Type.Kind {
	case batch.Boolean:
		return h.word(uint32(batch.Values[uint8](c)[i]), seed)
	case batch.TinyInt, batch.SmallInt, batch.Int, batch.Date:
		return h.word(uint32(c.Int(i)), seed)
	case batch.BigInt, batch.Timestamp, batch.TimestampNTZ:
		return h.long(uint64(c.Int(i)), seed)
	case batch.Float:
		f := batch.Values[float32](c)[i]
		if f != f {
			return h.word(0x7fc00000, seed)
		}
		return h.word(math.Float32bits(f+0), seed) // -0.0 + 0 is 0.0
	case batch.Double:
		f := batch.Values[float64](c)[i]
		if f != f {
			return h.long(0x7ff8000000000000, seed)
		}
		return h.long(math.Float64bits(f+0), seed)
	case batch.Decimal:
		if c.Type.Precision <= 18 {
			return h.long(uint64(c.Int(i)), seed)
		}
		var memory [16]byte
		return h.bytes(shortest(&memory, batch.Values[batch.Int128](c)[i]), seed)
	case batch.Struct:
		for f := range c.Children {
			seed = hashValue(h, &c.Children[f], i, seed)
		}
		return seed
	case batch.Array:
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			seed = hashValue(h, &c.Children[0], int(j), seed)
		}
		return seed
	}
	return h.bytes(c.Text(i), seed)
}

// shortest writes a number in two's complement, the highest byte first, in as few bytes as hold its sign.
func shortest(b *[16]byte, v batch.Int128) []byte {
	binary.BigEndian.PutUint64(b[:], uint64(v.Hi))
	binary.BigEndian.PutUint64(b[8:], v.Lo)
	i := 0
	for i < 15 && (b[i] == 0 && b[i+1] < 0x80 || b[i] == 0xff && b[i+1] >= 0x80) {
		i++
	}
	return b[i:]
}

// murmur is Murmur3 in 32 bits, with the bytes behind the last whole word taken one by one, as Spark does.
type murmur struct{}

func (murmur) append(out *batch.Builder, h uint64) { batch.Append(out, int32(h)) }

func mix(h, k uint32) uint32 {
	k = bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

func finish(h, length uint32) uint64 {
	h ^= length
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return uint64(h ^ h>>16)
}

func (murmur) word(v uint32, seed uint64) uint64 { return finish(mix(uint32(seed), v), 4) }

func (murmur) long(v uint64, seed uint64) uint64 {
	return finish(mix(mix(uint32(seed), uint32(v)), uint32(v>>32)), 8)
}

func (murmur) bytes(b []byte, seed uint64) uint64 {
	h, length := uint32(seed), uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = mix(h, binary.LittleEndian.Uint32(b))
	}
	for _, c := range b {
		h = mix(h, uint32(int32(int8(c))))
	}
	return finish(h, length)
}

// xx is XXH64.
type xx struct{}

const (
	prime1 uint64 = 0x9E3779B185EBCA87
	prime2 uint64 = 0xC2B2AE3D27D4EB4F
	prime3 uint64 = 0x165667B19E3779F9
	prime4 uint64 = 0x85EBCA77C2B2AE63
	prime5 uint64 = 0x27D4EB2F165667C5
)

func (xx) append(out *batch.Builder, h uint64) { batch.Append(out, int64(h)) }

func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func round(acc, v uint64) uint64 { return bits.RotateLeft64(acc+v*prime2, 31) * prime1 }

func tailWord(h uint64, v uint32) uint64 {
	return bits.RotateLeft64(h^uint64(v)*prime1, 23)*prime2 + prime3
}

func tailLong(h, v uint64) uint64 { return bits.RotateLeft64(h^round(0, v), 27)*prime1 + prime4 }

func (xx) word(v uint32, seed uint64) uint64 { return avalanche(tailWord(seed+prime5+4, v)) }

func (xx) long(v, seed uint64) uint64 { return avalanche(tailLong(seed+prime5+8, v)) }

func (xx) bytes(b []byte, seed uint64) uint64 {
	h, length := seed+prime5, uint64(len(b))
	if len(b) >= 32 {
		acc := [4]uint64{seed + prime1 + prime2, seed + prime2, seed, seed - prime1}
		for ; len(b) >= 32; b = b[32:] {
			for j := range acc {
				acc[j] = round(acc[j], binary.LittleEndian.Uint64(b[8*j:]))
			}
		}
		h = bits.RotateLeft64(acc[0], 1) + bits.RotateLeft64(acc[1], 7) + bits.RotateLeft64(acc[2], 12) + bits.RotateLeft64(acc[3], 18)
		for _, a := range acc {
			h = (h^round(0, a))*prime1 + prime4
		}
	}
	h += length
	for ; len(b) >= 8; b = b[8:] {
		h = tailLong(h, binary.LittleEndian.Uint64(b))
	}
	if len(b) >= 4 {
		h, b = tailWord(h, binary.LittleEndian.Uint32(b)), b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	return avalanche(h)
}
