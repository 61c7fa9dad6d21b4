package fault

// Codes that no single room owns.
var (
	InternalError = define("INTERNAL_ERROR", Internal, Never, "Sluice met a state it holds impossible; the message carries the stack.")
)
