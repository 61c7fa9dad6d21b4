package fault

// Codes of the formats.
var (
	MalformedRecord  = define("MALFORMED_RECORD_IN_PARSING", Data, AfterChange, "A record is not a whole, valid document of its format.")
	UnreadableJSON   = define("CANNOT_PARSE_JSON_FIELD", Data, AfterChange, "A field of a JSON document is not a value of its column's type.")
	MalformedCSV     = define("MALFORMED_CSV_RECORD", Data, AfterChange, "A CSV record has stray quotes, or another number of fields than its header or schema.")
	HeaderMismatch   = define("CSV_HEADER_MISMATCH", Data, AfterChange, "The header of a CSV file has no field, or more than one, for a column that is read.")
	UnreadableCSV    = define("CANNOT_PARSE_CSV_FIELD", Data, AfterChange, "A field of a CSV record is not a value of its column's type.")
	NullInNotNull    = define("NOT_NULL_CONSTRAINT_VIOLATION", Data, AfterChange, "A record has no value for a column or member that is declared NOT NULL.")
	AmbiguousMember  = define("AMBIGUOUS_COLUMN_OR_FIELD", Data, AfterChange, "Two fields of a record match a column's name without case and none matches it exactly.")
	InvalidUTF8      = define("INVALID_UTF8_STRING", Data, AfterChange, "Bytes that a STRING column should take are not UTF-8.")
	CannotEncode     = define("CANNOT_ENCODE_VALUE", Data, AfterChange, "A value has no form in the output format.")
	UnsupportedTypes = define("UNSUPPORTED_DATA_TYPE_FOR_FORMAT", User, AfterChange, "A format cannot read or write a column's type, or two columns have names it cannot tell apart.")
)
