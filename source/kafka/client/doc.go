// Package client makes the Kafka clients of source/kafka and sink/kafka: it knows the connection options (TLS, SASL and
// the settings with Java's names under "kafka."), builds a franz-go client from them, and turns what brokers and the
// network answer into coded errors.
//
// It promises that an option it lists has an effect, that an option it does not list is refused with the nearest name,
// that no secret is in an error, and that a client never creates a topic by asking for it. It knows nothing of records.
package client
