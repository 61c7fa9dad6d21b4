package eval

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"encoding/json"
	"strings"
	"unsafe"

	"sluice/eval/dialect"
	"sluice/fault"
)

// runtimeError codes an error that DuckDB raised while a query ran.
func runtimeError(kind C.duckdb_error_type, message string) *fault.Error {
	// "Conversion Error: Could not convert ...", then perhaps the line of SQL, which is not the user's.
	message = firstLine(message)
	if _, rest, ok := strings.Cut(message, " Error: "); ok {
		message = rest
	}
	switch kind {
	case C.DUCKDB_ERROR_OUT_OF_RANGE, C.DUCKDB_ERROR_CONVERSION, C.DUCKDB_ERROR_DECIMAL, C.DUCKDB_ERROR_MISMATCH_TYPE,
		C.DUCKDB_ERROR_DIVIDE_BY_ZERO, C.DUCKDB_ERROR_INVALID_INPUT, C.DUCKDB_ERROR_OBJECT_SIZE:
		if code := dialect.RuntimeCode(message); code != nil {
			return fault.New(code, "%s", fault.Payload(dialect.RuntimeMessage(message)))
		}
		return fault.New(fault.EvaluationFailed, "%s", fault.Payload(message))
	case C.DUCKDB_ERROR_OUT_OF_MEMORY:
		return outOfMemory(message)
	case C.DUCKDB_ERROR_IO:
		return fault.New(fault.EngineUnavailable, "%s", message)
	}
	return fault.New(fault.InternalError, "DuckDB error %d: %s", kind, message)
}

// exception codes an exception of DuckDB's, whose text it frees; NULL is nil. The text is JSON, with the type in words.
func exception(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	var e struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
	}
	message := C.GoString(text)
	if err := json.Unmarshal([]byte(message), &e); err == nil {
		message = firstLine(e.Message)
	}
	if e.Type == "Out of Memory" {
		return outOfMemory(message)
	}
	return fault.New(fault.InternalError, "DuckDB threw %s", message)
}

func outOfMemory(message string) *fault.Error {
	return fault.New(fault.OutOfMemory, "%s", message).WithHint("raise memory_limit, or give the engine a temporary folder with more room")
}

// refused codes an error of a statement that DuckDB does not prepare: what it computes of constants may fail, anything else is
// our own mistake.
func refused(message string) *fault.Error {
	message = firstLine(message)
	if code := dialect.RuntimeCode(message); code != nil {
		return fault.New(code, "%s", fault.Payload(dialect.RuntimeMessage(message)))
	}
	return fault.New(fault.InternalError, "DuckDB refuses a query: %s", message)
}

// firstLine drops what DuckDB adds below its message: candidates and the line of SQL with a caret.
func firstLine(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return line
}
