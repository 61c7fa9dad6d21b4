package fault

// Codes of eval.
var (
	EngineUnavailable = define("SQL_ENGINE_UNAVAILABLE", External, AfterChange, "The SQL engine cannot be opened with its settings, or lost its temporary folder.")
	OutOfMemory       = define("SQL_OUT_OF_MEMORY", External, AfterChange, "A query needs more memory than the SQL engine may use and could not move the rest to disk.")
	EvaluationFailed  = define("SQL_EVALUATION_FAILED", Data, AfterChange, "An expression raised an error on a row, and no code of its own says which.")
)
