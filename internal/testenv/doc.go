// Package testenv gives tests the systems around Sluice: a Kafka broker in the process (Broker), real Kafka in a container
// (Kafka, StartKafka) and a real PostgreSQL (Postgres). A package that uses the last two has a TestMain that calls Main, which
// stops what was started.
//
// Real Kafka is the image SLUICE_KAFKA_IMAGE, else confluentinc/confluent-local; scripts/build-kafka-image.sh makes one
// where there is no registry. Without Docker a test that needs it is left out and says so; with REQUIRE_DOCKER=1 it fails
// instead. PostgreSQL is a child process where the machine has its binaries, else a container.
package testenv
