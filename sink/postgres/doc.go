// Package postgres is the sink that writes a table of PostgreSQL (D-44).
//
// Each batch is one transaction, together with the row of the flow in _sluice_batches (in the table's schema), which holds
// the identity of the last batch: store, epoch, generation, number (D-18). The row is locked first, so a batch that comes
// again is dropped, another store's table is refused, and of two runs of a flow the newer wins and the older stops with
// FENCED, exactly.
//
//	append       inserts every row; of a change feed every change, with what it is in the column _change_type
//	upsert       leaves per key what the batch comes to: the row, or nothing. Columns of the table that the flow does not
//	             give are kept. Two rows with one key in a batch are refused (SINK_UPSERT_KEY_NOT_UNIQUE)
//	replace_using  a key owns a set of rows, those with the highest sequence: rows of a lower one are deleted, and rows
//	             are inserted where the table has none of a higher one
//	mirror       holds the rows that the feed's table has, each as often: equal rows are deleted one for one, and a row that is to go and is not
//	             there stops the flow (SINK_ROWS_MISSING)
//
// Null keys match null. Values go over in the binary form of the column's own type, exactly, or the column is refused when
// the sink opens. A text with a NUL, which PostgreSQL has no form for, is refused with its table, column and position.
//
// At the first batch of a generation above 0 the table is emptied in the same transaction when on_reset => truncate; the
// rows of other flows into the same table go, too. The sink creates its table only when create_table says so.
package postgres
