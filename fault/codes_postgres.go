package fault

// Codes of sink/postgres. Errors of the server keep its SQLSTATE in their text.
var (
	PostgresUnavailable    = define("POSTGRES_UNAVAILABLE", External, Backoff, "The database does not answer, breaks off, or cannot do the work now (connections, resources, deadlocks).")
	PostgresAuthentication = define("POSTGRES_AUTHENTICATION_FAILED", External, AfterChange, "The database refuses the user, the password or the certificate.")
	PostgresPermission     = define("POSTGRES_PERMISSION_DENIED", External, AfterChange, "The user may not do in the database what the sink needs.")
	PostgresTable          = define("POSTGRES_TABLE_NOT_FOUND", External, AfterChange, "The table of the sink, its schema or its database does not exist.")
	PostgresColumn         = define("POSTGRES_COLUMN_MISMATCH", External, AfterChange, "A column of the flow has no column in the table, or one of a type that cannot hold its values exactly.")
	PostgresRefused        = define("POSTGRES_ROW_REFUSED", Data, AfterChange, "The database refuses a row of a batch: a constraint, a length, a trigger.")
	SinkRowsMissing        = define("SINK_ROWS_MISSING", External, AfterChange, "A table of PostgreSQL that mirrors another does not have rows that are to be deleted: something else has changed it.")
	PostgresError          = define("POSTGRES_ERROR", External, AfterChange, "The database answers with an error that Sluice does not expect.")
)
