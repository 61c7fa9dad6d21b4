package eval

/*
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"strings"
)

// clock holds the time of the batch at hand for a statement that asks for it (D-48).
//
// The query has it as parameter 1. But DuckDB plans a query with a parameter and a FROM clause anew in each run, which takes
// ten times as long as a small batch does. So the plain statement of a stream calls a function instead. The guarded one
// keeps the parameter, since TRY takes no volatile function; so do queries without a stream, where a good plan counts more.
type clock struct {
	micros int64
	handle cgo.Handle
}

func newClock() *clock {
	c := &clock{}
	c.handle = cgo.NewHandle(c)
	return c
}

func (c *clock) free() {
	if c != nil {
		c.handle.Delete()
	}
}

// call writes the query with calls of the clock in place of parameter 1.
func (c *clock) call(sql string) string {
	return replaced(sql, "$1", fmt.Sprintf("%s(%d)", C.SLUICE_CLOCK, c.handle))
}

// plainText returns how far sql has no quotes.
func plainText(sql string) int {
	if i := strings.IndexAny(sql, `'"`); i >= 0 {
		return i
	}
	return len(sql)
}

// quotedText returns the length of the quoted text that sql begins with; a doubled quote is the end of one and the
// beginning of the next.
func quotedText(sql string) int {
	if sql == "" {
		return 0
	}
	if i := strings.IndexByte(sql[1:], sql[0]); i >= 0 {
		return i + 2
	}
	return len(sql)
}

//export sluiceClock
func sluiceClock(handle C.uintptr_t, micros *C.int64_t) (ok bool) {
	defer func() { _ = recover() }() // not a handle of ours: the SQL made it up
	c, ok := cgo.Handle(handle).Value().(*clock)
	if ok {
		*micros = C.int64_t(c.micros)
	}
	return ok
}
