package fault

// Codes of source/kafka and sink/kafka.
var (
	KafkaUnavailable    = define("KAFKA_UNAVAILABLE", External, Backoff, "No broker of the list answers, or one breaks off what it was asked.")
	BrokerSilent        = define("KAFKA_BROKER_SILENT", External, Backoff, "A broker keeps its connections open and does not answer what a flow asks of it. A warning: the flow waits, and goes on by itself when it answers.")
	KafkaAuthentication = define("KAFKA_AUTHENTICATION_FAILED", External, AfterChange, "A broker refuses the user, the password, the mechanism or the certificate, or the two sides disagree about TLS.")
	KafkaAuthorization  = define("KAFKA_AUTHORIZATION_FAILED", External, AfterChange, "The user may not do what the flow needs: read or write the topic, use the group or the transactional id.")
	UnknownTopic        = define("UNKNOWN_TOPIC_OR_PARTITION", External, AfterChange, "A topic that a pipeline reads or writes does not exist; Sluice never creates one by reading.")
	InvalidOffsets      = define("KAFKA_INVALID_OFFSETS", User, AfterChange, "startingOffsets or endingOffsets do not fit the topic's partitions or what they hold.")
	DataLoss            = define("KAFKA_DATA_LOSS", External, AfterChange, "Records that were not read yet, or that a full refresh would have to read again, are no longer in the topic (D-6).")
	TopicRecreated      = define("TOPIC_RECREATED", External, AfterChange, "A topic is not the one that was read before: it was deleted and created again, or it ends before the position reached.")
	OpenTransaction     = define("KAFKA_OPEN_TRANSACTION", External, AfterChange, "A drain waited for longer than drain_timeout for a producer to end its transaction.")
	CorruptBatch        = define("KAFKA_CORRUPT_BATCH", Data, Never, "A record batch of a topic fails its checksum or cannot be parsed.")
	NullValue           = define("KAFKA_NULL_VALUE", Data, Never, "A record has no value and the source says on_null_value => 'error'.")
)
