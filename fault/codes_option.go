package fault

// Codes of option.
var (
	UnknownOption   = define("UNKNOWN_OPTION", User, AfterChange, "An option, setting or YAML key is not one that exists there.")
	DuplicateOption = define("DUPLICATE_OPTION", User, AfterChange, "An option is given twice.")
	InvalidOption   = define("INVALID_OPTION_VALUE", User, AfterChange, "The value of an option is not of its kind.")
	MissingOption   = define("MISSING_OPTION", User, AfterChange, "An option that has no default is not given.")
)
