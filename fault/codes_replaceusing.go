package fault

// Codes of replaceusing.
var (
	NullSequence  = define("REPLACE_USING_NULL_SEQUENCE", Data, AfterChange, "A row of a REPLACE USING flow has a sequence that is null or NaN.")
	EqualSequence = define("REPLACE_USING_EQUAL_SEQUENCE", User, Never, "A warning, once in a run: a row has the key and the sequence of another, and both are kept; at level INFO unless several flows write the table (D-10).")
)
