package testenv

import (
	"testing"

	"sluice/internal/broker"
)

// Broker starts a broker in this process for one test.
func Broker(t testing.TB, o broker.Options) *broker.Broker {
	t.Helper()
	b, err := broker.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}
