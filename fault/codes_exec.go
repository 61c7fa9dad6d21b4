package fault

// Codes of programs that take batches (D-46).
var (
	ExecNotStarted = define("EXEC_SINK_NOT_STARTED", External, AfterChange, "The program of an exec sink cannot be started.")
	ExecTryAgain   = define("EXEC_SINK_TRY_AGAIN", External, Backoff, "The program of an exec sink asks for the batch again later: exit code 75, or the answer retry.")
	ExecFailed     = define("EXEC_SINK_FAILED", External, AfterChange, "The program of an exec sink refuses a batch: another exit code than 0 and 75, or the answer fail.")
	ExecProtocol   = define("EXEC_SINK_PROTOCOL", External, AfterChange, "The program of a persistent exec sink answers with something else than ok, retry or fail, or before it has read the batch.")
)
