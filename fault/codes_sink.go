package fault

// Codes of sinks that remember what they were given (D-18) and of those that fold changes by key (D-43).
var (
	SinkOtherStore     = define("SINK_OWNED_BY_ANOTHER_STORE", External, AfterChange, "The target of a sink was written by the same pipeline and flow from another store.")
	SinkAhead          = define("SINK_AHEAD_OF_STORE", External, AfterChange, "The target of a sink has batches that the store has not numbered yet: the store is an old backup or a copy.")
	SinkIdentityLost   = define("SINK_IDENTITY_LOST", External, AfterChange, "The store has sent batches to a sink, and the target remembers none or only older ones.")
	SinkNotAdoptable   = define("SINK_NOT_ADOPTABLE", User, AfterChange, "sink adopt names a sink whose target remembers nobody: files, a program.")
	Fenced             = define("FENCED", External, Never, "A newer run of the flow has taken over the target of a sink.")
	SinkKeyNotUnique   = define("SINK_UPSERT_KEY_NOT_UNIQUE", Data, AfterChange, "A batch leaves several rows with one key, and the sink holds one row per key.")
	SinkRefusedValue   = define("SINK_REFUSED_VALUE", Data, AfterChange, "A value that Sluice holds has no form in the target of a sink.")
	SinkRecordTooLarge = define("MESSAGE_TOO_LARGE", Data, AfterChange, "A row makes a record that is larger than the topic of a sink allows.")
)
