package state

import (
	"fmt"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLogger carries Pebble's messages to ours. Pebble calls Fatalf when a write to its log or manifest failed and it
// cannot know what is on disk: the process must end, and nothing may be acknowledged any more.
type pebbleLogger struct{ s *Store }

func (l pebbleLogger) Infof(format string, args ...any) {
	l.s.o.Logger.Debug("pebble", "message", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.o.Logger.Error("pebble", "message", fmt.Sprintf(format, args...))
}

// Fatalf reports the failure and does not return. The panic is caught where a caller of ours waits for the write; from
// Pebble's own goroutines it ends the process, should OnFault not have done so.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, a := range args {
		if e, ok := a.(error); ok {
			err = e
		}
	}
	panic(fatal{l.s.fail(err)})
}

// fatal is the panic of Fatalf.
type fatal struct{ err error }

// recoverFatal turns a panic of Pebble into the error of the call it happened in, and into the end of the store: Pebble also
// panics with the error of the disk, when there is no room for a new log, say. It may have left its locks taken, so
// whoever calls it next would wait for ever.
func (s *Store) recoverFatal(err *error) {
	switch r := recover().(type) {
	case nil:
	case fatal:
		*err = r.err
	default:
		cause, ok := r.(error)
		if !ok {
			cause = fmt.Errorf("%v", r)
		}
		s.o.Logger.Error("panic in the store", "panic", cause, "stack", string(debug.Stack()))
		*err = s.fail(cause)
	}
}

// listener hears of what fails in Pebble's background: a flush or compaction that cannot write, a block that is not what
// was written.
func (s *Store) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { _ = s.fail(err) },
		DataCorruption:  func(i pebble.DataCorruptionInfo) { _ = s.fail(s.corrupt("%s: %v", i.Path, i.Details)) },
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { s.o.Logger.Warn("writes wait for the disk", "reason", i.Reason) },
		WriteStallEnd:   func() { s.o.Logger.Info("writes go on") },
	}
}
