package fault

// Codes of the embedded broker and its topics.
var (
	BrokerListen = define("EMBEDDED_BROKER_LISTEN", User, AfterChange, "The embedded broker cannot listen where it should.")
	BrokerData   = define("EMBEDDED_BROKER_DATA", External, AfterChange, "The folder of the embedded broker cannot be used.")
	SeedFile     = define("SEED_FILE_INVALID", User, AfterChange, "A file to fill a topic from cannot be read, is not the one it was, or has a line that is not a JSON document.")
)
