package daemon

import (
	"slices"

	"sluice/eventlog"
	"sluice/plan"
	"sluice/source/kafka/client"
)

// asks reports whether a flow reads a source of a kind.
func asks(f *plan.Flow, kind plan.InputKind) bool {
	return slices.ContainsFunc(f.Inputs(), func(in *plan.Input) bool { return in.Kind == kind })
}

// monitor watches the brokers that a flow reads from and writes to, from its first try to its last: how long one has been silent does not
// begin anew with a try. It is nil for a flow that asks none.
func (d *Daemon) monitor(f *plan.Flow) *client.Monitor {
	if !asks(f, plan.FromKafka) && (f.Sink == nil || f.Sink.Format != "kafka") {
		return nil
	}
	m := client.NewMonitor(func(s client.Silence) {
		d.emit(&eventlog.BrokerSilent{Flow: f.Name, Node: s.Node, Address: s.Address, Since: s.Since, Request: s.Request, Over: s.Over, Text: s.String()})
	})
	d.onClose(m.Close)
	return m
}
