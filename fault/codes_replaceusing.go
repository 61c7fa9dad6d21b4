package fault

// Codes of replaceusing.
var (
	NullSequence = define("REPLACE_USING_NULL_SEQUENCE", Data, AfterChange, "A row of a REPLACE USING flow has a sequence that is null or NaN.")
)
