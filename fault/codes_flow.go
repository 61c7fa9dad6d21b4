package fault

// Codes of flow.
var (
	FanOutTooLarge = define("RECORD_FAN_OUT_TOO_LARGE", Data, AfterChange, "A query made more rows of one record than positions can tell apart.")
)
