package state

import (
	"encoding/binary"

	"sluice/batch"
)

// formatVersion is the first byte of every key but the identity's. A change of the layout below, or of an encoding it
// names, takes the next number.
const formatVersion = 1

// formatFiles is the format that the identity names from the first file of a table on: a version that does not know files would
// not see their rows. The keys are those of format 1 and some more.
const formatFiles = 2

// The second byte of a key says what it holds. Numbers in keys are big-endian, so that they sort. docs/state-format.md
// lists the values.
const (
	kindMeta       = 'm' // name: a counter of the store
	kindDefinition = 'd' // name
	kindEvent      = 'e' // sequence u64
	kindFlow       = 'f' // flow name: flowRecord
	kindProgress   = 'g' // flow u32: progress
	kindBound      = 'b' // flow u32, 's' or 'e': start or end
	kindPosition   = 'p' // flow u32, split
	kindCounter    = 'c' // flow u32, counter name
	kindPlan       = 'n' // flow u32, chunk u32: the planned batch
	kindSplit      = 's' // flow u32, split, 0, id: split number
	kindTable      = 't' // table name: tableRecord
	kindVersion    = 'v' // instance u32: tableVersion
	kindReader     = 'r' // instance u32, flow u32: readerRecord
	kindCommit     = 'j' // instance u32, commit u64: commitRecord of an append table
	kindAppends    = 'a' // instance u32, commit u64, ordinal u32: chunk
	kindTrim       = 'w' // instance u32: trimRecord
	kindFile       = 'i' // instance u32, epoch u64, number u32: fileRecord
	kindUpdate     = 'u' // instance u32, version u64: updateRecord of a table with windows
	kindMark       = 'z' // instance u32, version u64: fileRecord of the rows that a statement changed from outside
	kindDigest     = 'x' // instance u32: digestRecord
	kindChanges    = 'h' // instance u32, commit u64, ordinal u32: chunk of the change feed
	kindCopy       = 'y' // instance u32, flow u32, ordinal u32: chunk of a new reader's first copy
	kindRows       = 'k' // instance u32, shard u8, key tuple: group; then 1 and a position: row of a spilled group
	kindQuarantine = 'q' // flow u32: quarantine's size; then split number u32, offset u64, index u32: a record in quarantine
	kindLetter     = 'l' // flow u32: how many dead letters were taken; then number u64: a dead letter
	kindFloors     = 'o' // instance u32, shard u8, key tuple: floor alone, where floors do not fit in memory
)

const (
	shards          = 256
	instancePrefix  = 2 + 4              // bytes in front of the shard
	tupleAt         = instancePrefix + 1 // where the key tuple begins
	rowMarker       = 1                  // between a key tuple and a row's position
	afterRows       = 0xff               // sorts after every row of a key
	rowPositionSize = 4 + 8 + 4
)

// identityKey is the one key every version of the format can read.
var identityKey = []byte{0, 'i'}

func key(kind byte) []byte { return []byte{formatVersion, kind} }

func nameKey(kind byte, name string) []byte { return append(key(kind), name...) }

func idKey(kind byte, id uint32) []byte { return binary.BigEndian.AppendUint32(key(kind), id) }

func eventKey(sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(key(kindEvent), sequence)
}

func boundKey(flow uint32, which byte) []byte { return append(idKey(kindBound, flow), which) }

func positionKey(flow uint32, split string) []byte {
	return append(idKey(kindPosition, flow), split...)
}

func counterKey(flow uint32, name string) []byte { return append(idKey(kindCounter, flow), name...) }

func planKey(flow, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(idKey(kindPlan, flow), chunk)
}

// splitKey is unambiguous because a split's name has no zero byte: topics, paths and table names cannot.
func splitKey(flow uint32, split, id string) []byte {
	k := append(idKey(kindSplit, flow), split...)
	return append(append(k, 0), id...)
}

func readerKey(instance, flow uint32) []byte {
	return binary.BigEndian.AppendUint32(idKey(kindReader, instance), flow)
}

func commitKey(instance uint32, commit int64) []byte {
	return binary.BigEndian.AppendUint64(idKey(kindCommit, instance), uint64(commit))
}

// chunkKey is the key of a chunk of appends or changes that begins at the given place.
func chunkKey(kind byte, instance uint32, at batch.Offset) []byte {
	k := binary.BigEndian.AppendUint64(idKey(kind, instance), uint64(at.At))
	return binary.BigEndian.AppendUint32(k, uint32(at.Index))
}

// chunkAt is where the chunk under a key begins.
func chunkAt(k []byte) batch.Offset {
	k = k[instancePrefix:]
	return batch.Offset{At: int64(binary.BigEndian.Uint64(k)), Index: int32(binary.BigEndian.Uint32(k[8:]))}
}

func fileKey(instance uint32, f FileID) []byte {
	k := binary.BigEndian.AppendUint64(idKey(kindFile, instance), f.Epoch)
	return binary.BigEndian.AppendUint32(k, f.Number)
}

// parseFileKey is the file in a key, behind the instance.
func parseFileKey(rest []byte) FileID {
	return FileID{binary.BigEndian.Uint64(rest), binary.BigEndian.Uint32(rest[8:])}
}

func markKey(instance uint32, version int64) []byte {
	return binary.BigEndian.AppendUint64(idKey(kindMark, instance), uint64(version))
}

func updateKey(instance uint32, version int64) []byte {
	return binary.BigEndian.AppendUint64(idKey(kindUpdate, instance), uint64(version))
}

func copyPrefix(instance, flow uint32) []byte {
	return binary.BigEndian.AppendUint32(idKey(kindCopy, instance), flow)
}

func copyKey(instance, flow uint32, ordinal int32) []byte {
	return binary.BigEndian.AppendUint32(copyPrefix(instance, flow), uint32(ordinal))
}

func copyOrdinal(k []byte) int32 { return int32(binary.BigEndian.Uint32(k[len(k)-4:])) }

// shardOf is the shard of a key tuple with the given hash. It lies on disk.
func shardOf(hash uint64) byte { return byte(hash >> 56) }

// shardKey is the lower bound of a shard's rows; shard may be shards, which bounds the last one.
func shardKey(kind byte, instance uint32, shard int) []byte {
	if shard >= shards {
		return prefixEnd(idKey(kind, instance))
	}
	return append(idKey(kind, instance), byte(shard))
}

// floorKey turns the key of a group, as rows are stored under, into the key of its floor, in dst.
func floorKey(dst, group []byte) []byte {
	dst = append(dst[:0], group...)
	dst[1] = kindFloors
	return dst
}

// appendRowKey appends to dst the key of one row of a spilled group. Rows sort by position.
func appendRowKey(dst, group []byte, p rowPosition) []byte {
	return appendPositionKey(append(append(dst, group...), rowMarker), p)
}

// appendPositionKey appends a position so that bytes sort as positions do.
func appendPositionKey(dst []byte, p rowPosition) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.split))
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.offset)^1<<63)
	return binary.BigEndian.AppendUint32(dst, uint32(p.index)^1<<31)
}

// quarantineKey is the key of a record in quarantine. Those of a split sort by position.
func quarantineKey(flow uint32, p rowPosition) []byte {
	return appendPositionKey(idKey(kindQuarantine, flow), p)
}

// letterKey is the key of a dead letter. They sort by number.
func letterKey(flow uint32, n int64) []byte {
	return binary.BigEndian.AppendUint64(idKey(kindLetter, flow), uint64(n))
}

func letterNumber(k []byte) int64 { return int64(binary.BigEndian.Uint64(k[len(k)-8:])) }

// parseRowKey is the position in the key of a row of a spilled group, or of a record in quarantine.
func parseRowKey(k []byte) rowPosition {
	k = k[len(k)-rowPositionSize:]
	return rowPosition{
		split:  int32(binary.BigEndian.Uint32(k)),
		offset: int64(binary.BigEndian.Uint64(k[4:]) ^ 1<<63),
		index:  int32(binary.BigEndian.Uint32(k[12:]) ^ 1<<31),
	}
}

// rowsOf bounds the rows of a spilled group: from is their first possible key, to the first key after them. No tuple is a
// prefix of another, so nothing else lies between.
func rowsOf(group []byte) (from, to []byte) {
	from = append(append(make([]byte, 0, len(group)+1), group...), rowMarker)
	to = append(append(make([]byte, 0, len(group)+1), group...), afterRows)
	return from, to
}

// prefixEnd is the first key after every key that starts with prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// rowPosition is where a stored row came from: the store's number of its split, and the place in it.
type rowPosition struct {
	split  int32
	offset int64
	index  int32
}

func (p rowPosition) compare(q rowPosition) int {
	switch {
	case p.split != q.split:
		return order(p.split < q.split)
	case p.offset != q.offset:
		return order(p.offset < q.offset)
	case p.index != q.index:
		return order(p.index < q.index)
	}
	return 0
}

func order(less bool) int {
	if less {
		return -1
	}
	return 1
}
