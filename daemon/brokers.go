package daemon

import (
	"sluice/eventlog"
	"sluice/plan"
	"sluice/source/kafka/client"
)

// monitor watches the brokers that a flow reads from and writes to, from its first try to its last: how long one has been silent does not
// begin anew with a try. It is nil for a flow that asks none.
func (d *Daemon) monitor(f *plan.Flow) *client.Monitor {
	if f.Input.Kind != plan.FromKafka && (f.Sink == nil || f.Sink.Format != "kafka") {
		return nil
	}
	m := client.NewMonitor(func(s client.Silence) {
		d.emit(&eventlog.BrokerSilent{Flow: f.Name, Node: s.Node, Address: s.Address, Since: s.Since, Request: s.Request, Over: s.Over, Text: s.String()})
	})
	d.onClose(m.Close)
	return m
}
