package dialect

import "testing"

// What DuckDB says about values is said in Spark's words; what is not known stays as it is.
func TestReworded(t *testing.T) {
	for message, want := range map[string]string{
		"Type INT32 with value 128 can't be cast because the value is out of range for the destination type INT8 when casting from source column c0": "the value 128 is outside the range of TINYINT",
		"Type DOUBLE with value 1e+19 can't be cast because the value is out of range for the destination type INT64":                                "the value 1e+19 is outside the range of BIGINT",
		"Failed to cast decimal value 99999 to type INT16":                                                                                           "the value 99999 is outside the range of SMALLINT",
		"Could not cast value 1000 to DECIMAL(3,1) when casting from source column c0":                                                               "the value 1000 has too many digits for DECIMAL(3,1)",
		`Casting value "1000.00" to type DECIMAL(3,1) failed: value is out of range!`:                                                                "the value 1000.00 has too many digits for DECIMAL(3,1)",
		"Could not convert string '99999999999' to INT32 when casting from source column c0":                                                         "the value '99999999999' of the type STRING cannot be cast to INT",
		"Could not convert string 'an INT32 and \"more' to INT32":                                                                                    "the value 'an INT32 and \"more' of the type STRING cannot be cast to INT",
		"Overflow in addition of INT32 (2147483647 + 1)!":                                                                                            "2147483647 + 1 is outside the range of INT",
		"Overflow in addition of DECIMAL(38) (9 + 9);":                                                                                               "9 + 9, without their points, has more than 38 digits",
		"Overflow on abs(-2147483648)":                                                                                                               "abs(-2147483648) is outside the range of its type",
		`date field value out of range: "2024-02-30"`:                                                                                                "the value '2024-02-30' is no day or time that exists",
		"Date out of range: 2024-2-30":                                                                                                               "there is no day 2024-2-30",
		"something else":                                                                                                                             "something else",
		"'[INVALID_INDEX_OF_ZERO] the index is 0; the first element is 1'":                                                                           "the index is 0; the first element is 1",
	} {
		if got := RuntimeMessage(message); got != want {
			t.Errorf("%s\n became %s\n    not %s", message, got, want)
		}
	}
}
