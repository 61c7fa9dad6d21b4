package fault

// Codes of expect.
var (
	ExpectationViolation = define("EXPECTATION_VIOLATION", Data, AfterChange, "A row violates an expectation with ON VIOLATION FAIL UPDATE (EX-10).")
)
