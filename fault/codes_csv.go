package fault

// Of the functions over CSV.
var (
	NonStructSchema = define("INVALID_SCHEMA.NON_STRUCT_TYPE", User, AfterChange, "The schema of from_csv is no list of columns.")
	UnsupportedIn   = define("DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE", User, AfterChange, "to_csv takes a struct.")
	UnexpectedNull  = define("DATATYPE_MISMATCH.UNEXPECTED_NULL", User, AfterChange, "An argument must not be NULL.")
)
