package fault

// Codes of replaceusing.
var (
	NullSequence  = define("REPLACE_USING_NULL_SEQUENCE", Data, AfterChange, "A row of a REPLACE USING flow has a sequence that is null or NaN.")
	EqualSequence = define("REPLACE_USING_EQUAL_SEQUENCE", User, Never, "A warning: in a table that several flows write, a row came whose sequence its key had already; all are kept (D-10).")
)
