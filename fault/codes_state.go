package fault

// Codes of state.
var (
	StoreLocked          = define("STORE_LOCKED", User, AfterChange, "The store is in use by another process, which the message names.")
	StoreNotFound        = define("STORE_NOT_FOUND", User, AfterChange, "A command that only reads found no store in the storage folder.")
	StoreOfOtherPipeline = define("STORE_OF_ANOTHER_PIPELINE", User, AfterChange, "The storage folder holds the store of a pipeline with another name.")
	StoreFormatNewer     = define("STORE_FORMAT_NEWER", User, AfterChange, "The store was written by a newer version of Sluice in a format this version does not know.")
	StoreFailed          = define("STORE_FAILED", External, AfterChange, "The disk under the store did not do its part: a write, a sync or a read failed, or the disk is full.")
	StoreNotWritable     = define("STORE_NOT_WRITABLE", User, AfterChange, "The process may not write to the storage folder: it belongs to another user, or is mounted read-only.")
	StoreCorrupt         = define("STORE_CORRUPT", External, Never, "Bytes of the store are not what was written: a checksum or the consistency check failed.")
	StoreReadOnly        = define("STORE_READ_ONLY", Internal, Never, "Something tried to write to a store that was opened for reading.")
	StoreClosed          = define("STORE_CLOSED", Internal, Never, "Something waited for a store that was closed meanwhile.")
	KeySchemaDrift       = define("KEY_SCHEMA_DRIFT", User, AfterChange, "The key columns of a table, or their types, are not those its rows were stored under.")
	SequencingTypeDrift  = define("SEQUENCING_TYPE_DRIFT", User, AfterChange, "The type of a table's sequence is not the one its rows were stored under.")
	TableKindDrift       = define("TABLE_KIND_DRIFT", User, AfterChange, "A table with keys became one without, or the other way round.")
	ColumnTypeDrift      = define("COLUMN_TYPE_DRIFT", User, AfterChange, "The type of a stored column changed in a way that is not a widening.")
	SourceReset          = define("SOURCE_RESET", User, AfterChange, "The table a flow reads was fully refreshed, so the flow's position in it means nothing any more.")
	RowsTrimmed          = define("ROWS_TRIMMED", User, AfterChange, "A reader of an append table would start at rows that its retention has removed.")
	WriteConflict        = define("WRITE_CONFLICT", Internal, Backoff, "A table changed while an update of it was computed, so the update is computed anew.")
	FullRefreshOrdered   = define("FULL_REFRESH_ORDERED", User, Backoff, "Something would write to a REPLACE WHERE table, or read columns of it that it does not have yet, and a full refresh of it is ordered, which comes first.")
	VersionNotFound      = define("VERSION_NOT_FOUND", User, AfterChange, "A version of a table is asked for that does not exist, or that has left the table's history.")
	CopyTooLarge         = define("COPY_TOO_LARGE", User, AfterChange, "A table has more rows than the first copy for a new reader of its change feed can number.")
)
