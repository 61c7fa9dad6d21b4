package fault

// Codes of syntax.
var (
	ParseSyntaxError        = define("PARSE_SYNTAX_ERROR", User, AfterChange, "A definition, a query or a column list is not written as the grammar asks.")
	UnsupportedFeature      = define("UNSUPPORTED_FEATURE", User, AfterChange, "A construct of Spark SQL is understood but not offered.")
	AutoCDCNoSource         = define("AUTOCDC_MISSING_SOURCE", User, AfterChange, "AUTO CDC does not say FROM which source it reads.")
	AutoCDCNoKeys           = define("AUTOCDC_EMPTY_KEYS", User, AfterChange, "AUTO CDC names no key column.")
	AutoCDCNoSequence       = define("AUTOCDC_MISSING_SEQUENCE_BY", User, AfterChange, "AUTO CDC has no SEQUENCE BY.")
	UnsupportedDatatype     = define("UNSUPPORTED_DATATYPE", User, AfterChange, "A type does not exist or cannot be stored.")
	InvalidDecimalPrecision = define("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", User, AfterChange, "A DECIMAL has a precision above 38, or a scale above its precision.")
)
