package eval

/*
#include "scan.h"
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"runtime/debug"

	"sluice/fault"
)

// scanning is one pass over a source that is pulled. Its methods are called from DuckDB's threads, of which one is the
// caller's; a panic there would end the process, so every one of them is turned into an error.
type scanning struct {
	source *source
	scan   Scan
	places places
	pins   runtime.Pinner
}

// fail keeps the first error of a run: two scans of one source may fail at once.
func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// failure returns why a scan of the source failed.
func (s *source) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// recovered turns a panic of a scan into an error of its source.
func (s *source) recovered() {
	if p := recover(); p != nil {
		s.fail(fault.New(fault.InternalError, "a scan panicked: %v", p).WithDetail("%s", debug.Stack()))
	}
}

//export sluiceSource
func sluiceSource(handle C.uintptr_t) (c *C.sluice_source) {
	defer func() { _ = recover() }() // not a handle of ours: the SQL made it up
	s, ok := cgo.Handle(handle).Value().(*source)
	if !ok {
		return nil
	}
	s.plans++
	return s.c
}

//export sluiceOpen
func sluiceOpen(handle C.uintptr_t) (opened C.uintptr_t) {
	s := cgo.Handle(handle).Value().(*source)
	defer s.recovered()
	scan, err := s.input.Open()
	if err != nil {
		s.fail(err)
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(&scanning{source: s, scan: scan, places: make(places, len(s.fields))}))
}

//export sluicePull
func sluicePull(handle C.uintptr_t, buffers *C.sluice_buffers) (rows C.int64_t) {
	p := cgo.Handle(handle).Value().(*scanning)
	rows = -1 // unless all goes well
	defer p.source.recovered()
	p.pins.Unpin()
	piece, err := p.scan.Next(0)
	if err == nil {
		err = p.source.fill(buffers, &piece, p.places, &p.pins)
	}
	if err != nil {
		p.source.fail(err)
		return -1
	}
	return C.int64_t(piece.Len)
}

//export sluiceClose
func sluiceClose(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	p := h.Value().(*scanning)
	h.Delete()
	defer p.source.recovered()
	p.pins.Unpin()
	if err := p.scan.Close(); err != nil {
		p.source.fail(err)
	}
}
