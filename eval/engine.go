package eval

/*
#include <stdlib.h>
#include "scan.h"
#cgo CFLAGS: -O2 -Wall -fexceptions
#cgo CXXFLAGS: -O2 -Wall
*/
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/fault"
)

// Options of an engine. There are no defaults but those named.
type Options struct {
	Threads     int    // DuckDB's workers, 1 for results that do not depend on scheduling (D-22)
	MemoryLimit int64  // bytes DuckDB may hold, and as many the functions in Go
	TempDir     string // where queries larger than that spill; nowhere when empty
	Zone        string // session time zone, UTC when empty
	Files       string // the only folder in which WriteFile and ReadFile find files; none when empty
}

// Engine is one in-memory DuckDB instance. It holds no data between runs. Its methods may be called from any goroutine.
type Engine struct {
	db      duckdb.Database
	threads int
	zone    *time.Location
	files   string  // Options.Files
	budget  *budget // of what functions in Go make, beside what DuckDB holds

	mu         sync.Mutex
	statements map[*Statement]struct{}
	functions  map[string]bool // those that DuckDB knows by name
}

// libraryVersion is the DuckDB that duckdb.h belongs to.
const libraryVersion = "v1.5.6"

// Open starts an engine: sandboxed (no extension is loaded, no file or network address is reachable from SQL, settings
// are locked) and with the order of rows preserved. It checks that DuckDB lays out values as this package assumes.
func Open(opt Options) (*Engine, error) {
	if have := duckdb.LibraryVersion(); have != libraryVersion {
		return nil, fault.New(fault.InternalError, "linked with DuckDB %s, made for %s", have, libraryVersion)
	}
	if opt.Threads < 1 || opt.MemoryLimit < 1 {
		return nil, fault.New(fault.EngineUnavailable, "the SQL engine needs a number of threads and a memory limit, got %d and %d", opt.Threads, opt.MemoryLimit)
	}
	if opt.Zone == "" {
		opt.Zone = "UTC"
	}
	zone, err := time.LoadLocation(opt.Zone)
	if err != nil {
		return nil, unknownZone(opt.Zone, err)
	}
	e := &Engine{threads: opt.Threads, zone: zone, files: opt.Files, budget: &budget{most: min(opt.MemoryLimit, 1<<31)}, statements: map[*Statement]struct{}{}, functions: map[string]bool{}}
	if err := e.open(opt); err != nil {
		return nil, err
	}
	if err := e.configure(opt); err != nil {
		e.Close()
		return nil, err
	}
	if err := e.selfTest(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open(opt Options) error {
	var config duckdb.Config
	if duckdb.CreateConfig(&config) != duckdb.StateSuccess {
		return fault.New(fault.InternalError, "DuckDB gives no configuration")
	}
	defer duckdb.DestroyConfig(&config)
	settings := [][2]string{
		{"threads", strconv.Itoa(opt.Threads)},
		{"memory_limit", strconv.FormatInt(opt.MemoryLimit, 10) + "B"},
		{"temp_directory", opt.TempDir},
		{"preserve_insertion_order", "true"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"enable_external_access", strconv.FormatBool(opt.Files != "")}, // until configure has said which folder
		// What two expressions share it would compute beforehand, for every row: also what TRY, coalesce or IN would not
		// have come to, or would have caught.
		{"disabled_optimizers", "common_subexpressions"},
	}
	for _, s := range settings {
		if duckdb.SetConfig(config, s[0], s[1]) != duckdb.StateSuccess {
			return fault.New(fault.EngineUnavailable, "DuckDB does not take %s = %q", s[0], s[1])
		}
	}
	var message string
	if duckdb.OpenExt(":memory:", &e.db, config, &message) != duckdb.StateSuccess {
		return fault.New(fault.EngineUnavailable, "DuckDB does not start: %s", firstLine(message))
	}
	return nil
}

// configure does what needs a connection: the functions, the zone (an extension's setting) and the lock, last.
func (e *Engine) configure(opt Options) error {
	conn, err := e.connect()
	if err != nil {
		return err
	}
	defer duckdb.Disconnect(&conn)
	c := C.duckdb_connection(conn.Ptr)
	if C.sluice_register_scan(c) != C.DuckDBSuccess || C.sluice_register_clock(c) != C.DuckDBSuccess {
		return fault.New(fault.InternalError, "DuckDB does not take the engine's functions")
	}
	if err := execute(conn, "SET GLOBAL TimeZone = "+quoteText(opt.Zone)); err != nil {
		return unknownZone(opt.Zone, err)
	}
	for _, sql := range confine(opt.Files) {
		if err := execute(conn, sql); err != nil {
			return err
		}
	}
	return execute(conn, "SET GLOBAL lock_configuration = true")
}

func unknownZone(name string, err error) error {
	return fault.New(fault.InvalidTimeZone, "there is no time zone %q", name).
		Because(err).WithHint("use a name of the IANA time zone database, such as Europe/Berlin")
}

// Files is the only folder in which the engine finds files, "" when it finds none.
func (e *Engine) Files() string { return e.files }

// Close frees the engine and the statements that are still open. None may be running.
func (e *Engine) Close() error {
	e.mu.Lock()
	open := e.statements
	e.statements = map[*Statement]struct{}{}
	e.mu.Unlock()
	for s := range open {
		s.free()
	}
	duckdb.Close(&e.db)
	return nil
}

func (e *Engine) connect() (duckdb.Connection, error) {
	var conn duckdb.Connection
	if duckdb.Connect(e.db, &conn) != duckdb.StateSuccess {
		return conn, fault.New(fault.InternalError, "DuckDB gives no connection")
	}
	return conn, nil
}

// execute runs a statement of ours that has no result.
func execute(conn duckdb.Connection, sql string) error {
	var result duckdb.Result
	defer duckdb.DestroyResult(&result)
	if duckdb.Query(conn, sql, &result) != duckdb.StateSuccess {
		return fault.New(fault.InternalError, "DuckDB refuses a statement of the engine: %s", firstLine(duckdb.ResultError(&result))).WithDetail("%s", sql)
	}
	return nil
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// cArray copies s to C memory; free it with C.free.
func cArray[T any](s []T) *T {
	var zero T
	p := (*T)(calloc(max(len(s), 1), unsafe.Sizeof(zero)))
	copy(unsafe.Slice(p, len(s)), s)
	return p
}

func calloc(n int, size uintptr) unsafe.Pointer {
	p := C.calloc(C.size_t(n), C.size_t(size))
	if p == nil {
		panic(fmt.Sprintf("eval: no memory for %d x %d bytes", n, size))
	}
	return p
}
