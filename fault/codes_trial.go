package fault

// Codes of rehearsals and test files (processor test).
var (
	NoSample        = define("TEST_SAMPLE_MISSING", User, AfterChange, "A pipeline is to be tested, and a topic that it reads has no sample of records.")
	SampleNotRead   = define("TEST_SAMPLE_NOT_READ", User, AfterChange, "A test gives a sample for a topic or a path that no flow of the pipeline reads.")
	SampleInvalid   = define("TEST_SAMPLE_INVALID", User, AfterChange, "A sample of a topic cannot be read, or has a line that is neither a value nor a record.")
	TestFileInvalid = define("TEST_FILE_INVALID", User, AfterChange, "A test file is not as test files are: not YAML, an unknown key, a value of another kind, a row that its table cannot have.")
	TestFailed      = define("PIPELINE_TEST_FAILED", User, AfterChange, "A test of a pipeline did not come out as it should.")
	NothingCompared = define("TEST_COMPARES_NOTHING", User, AfterChange, "A pipeline was rehearsed, and none of its tables and sinks could be compared.")
)
