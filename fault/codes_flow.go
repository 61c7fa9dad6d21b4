package fault

// Codes of flow.
var (
	FanOutTooLarge = define("RECORD_FAN_OUT_TOO_LARGE", Data, AfterChange, "A query made more rows of one record than positions can tell apart.")
	SourceTooShort = define("REPLACE_WHERE_SOURCE_TOO_SHORT", User, AfterChange, "A topic or a table that a REPLACE WHERE flow reads has lost what may belong to the window; nothing is written (D-11).")
	SourceMoved    = define("REPLACE_WHERE_SOURCE_MOVED", External, Backoff, "A file or a topic that an update of a REPLACE WHERE flow reads changed while it was read; nothing is written, and the update is computed anew.")
	RowsOutside    = define("REPLACE_WHERE_ROWS_OUTSIDE", Data, Never, "The query of a REPLACE WHERE flow gave rows that its predicate does not match; they are not written (RW-03, D-20). Only told.")
)
