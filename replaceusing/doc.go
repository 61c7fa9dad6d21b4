// Package replaceusing is the rule of REPLACE USING (keys) SEQUENCE BY column: what a batch does to the rows of each key
// it mentions.
//
// A key owns a bag of rows that share one sequence, its floor. Of a batch's rows of a key only those with the highest
// sequence count; they replace the key's rows when that sequence is above the floor, join them when it is equal, and are
// ignored when it is below (RU-01 to RU-09). The outcome does not depend on the order of arrival or on where batches end.
//
// The package promises values in, values out: keys, sequences and floors come as encoded columns whose bytes compare as
// the values do, the answer is one verdict per row and one operation per key. It reads no clock and no store, starts no
// goroutine, and allocates only to grow what it is given. flow calls it between state's look-up of floors and state's
// write:
//
//	grouper.Group(&groups, &keys.Keys)
//	writer.Floors(&floors, &keys, &groups)
//	replaceusing.Apply(&decision, &groups, &sequences, &floors, positions)
//	again, err := writer.Redelivered(&keys, &groups, positions, &decision.Edits)
//	decision.DropRedelivered(again)
//	writer.Apply(...)
//
// Rows with a null sequence must be taken out before (BadSequences, D-2).
package replaceusing
