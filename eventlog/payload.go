package eventlog

import "sluice/fault"

// WithoutPayload returns e as it may stand in a log: its error without what came out of records. The event log has it whole.
func WithoutPayload(e Event) Event {
	switch e := e.(type) {
	case *FlowProgress:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	case *RecordRefused:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	case *FlowWarning:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	case *UpdateProgress:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	case *ScheduleProgress:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	case *UpdateWarning:
		c := *e
		c.Err = sealed(e.Err)
		return &c
	}
	return e
}

func sealed(err *fault.Error) *fault.Error {
	if err == nil {
		return nil
	}
	return err.WithoutPayload()
}
