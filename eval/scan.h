// What scan.c and result.c share with the Go side: the layout of types, the buffers of inputs, the views of results.
#ifndef SLUICE_SCAN_H
#define SLUICE_SCAN_H

#include "duckdb.h"

// How the values of one node of a type lie in memory, ours on one side and DuckDB's on the other.
enum {
	SLUICE_FIXED,     // the same bytes on both sides
	SLUICE_DECIMAL16, // int64 here, int16 there: DECIMAL of up to 4 digits
	SLUICE_DECIMAL32, // int64 here, int32 there: DECIMAL of up to 9 digits
	SLUICE_TEXT,      // offsets and bytes here, duckdb_string_t there
	SLUICE_STRUCT,
	SLUICE_LIST,
	SLUICE_MAP, // key and value are two children here, there they are a struct inside a list
	SLUICE_ROW, // the number of the row within its input; has no buffers
	SLUICE_VOID // the type of NULL: nothing but nulls, results only
};

// A type is a tree of nodes in preorder: a node is followed by the trees of its children.
typedef struct {
	int32_t layout;
	int32_t width;    // SLUICE_FIXED: bytes of a value
	int32_t children; // direct children
	int32_t size;     // nodes of the tree, this one included
	int32_t unused;   // nobody asks for it: it is filled with nulls
} sluice_node;

// The buffers of one node of an input (see batch.Column), by their addresses. They may be Go memory, which is pinned.
// They are no pointers because Go writes them: its write barrier would look at what the field held before, and that may
// be memory the collector has taken back.
typedef struct {
	uintptr_t fixed;
	uintptr_t valid; // 0: no nulls
	uintptr_t offsets;
	uintptr_t bytes;
} sluice_buffers;

// An input of a statement. One source serves any number of scans at once.
typedef struct {
	// Fixed for the life of the statement.
	idx_t column_count;
	char **names;
	duckdb_logical_type *types;
	sluice_node *nodes;
	idx_t node_count;
	idx_t *roots; // where each column starts in nodes
	idx_t cardinality;
	uintptr_t handle; // of the Go source

	// Set before each run.
	bool pulled;             // rows come from Go, piece by piece
	sluice_buffers *buffers; // not pulled: one per node
	idx_t first, end;        // not pulled: the rows to scan
} sluice_source;

// One node of a chunk of a result.
typedef struct {
	void *data;
	uint64_t *valid; // NULL: no nulls
	idx_t rows;
} sluice_view;

// A prepared statement and its result at hand.
typedef struct {
	duckdb_prepared_statement statement;
	idx_t column_count;
	sluice_node *nodes;
	sluice_view *views; // one per node, of the chunk fetched last
	duckdb_result result;
	duckdb_data_chunk chunk;
} sluice_run;

// The table function's name; its argument is the handle of a source.
#define SLUICE_SCAN "sluice_scan"

// The name of the function that gives the batch time; its argument is the handle of a clock.
#define SLUICE_CLOCK "sluice_clock"

// Make the functions known to the instance behind the connection.
duckdb_state sluice_register_scan(duckdb_connection connection);
duckdb_state sluice_register_clock(duckdb_connection connection);

// Makes a function that is computed in Go known under a name: of the given arguments, behind the handle of what computes it.
// types and nodes are those of the arguments and then of the result; DuckDB's side keeps both, and frees them.
duckdb_state sluice_register_function(duckdb_connection connection, const char *name, bool quiet, duckdb_logical_type *types,
                                      idx_t arguments, sluice_node *nodes, idx_t argument_nodes);

// Describes a flat vector of the given rows, and its children.
void sluice_view_vector(sluice_view *views, const sluice_node *node, duckdb_vector vector, idx_t rows);

// Writes rows of a column, from start on, to a vector. With copy it gets copies of texts, else the column must stay as it is.
void sluice_fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t start, idx_t rows, bool copy);

// Writes some rows of a column to a vector, in any order: their numbers lie in a range of size from low on, which is not larger than a
// chunk. The column must stay as it is.
void sluice_fill_some(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t low, idx_t size,
                      const int32_t *rows, idx_t n);

// Starts the statement. With parameter, parameter 1 is the batch time in microseconds. False means an error in run->result.
bool sluice_execute(sluice_run *run, bool parameter, int64_t micros);

// Brings the next chunk into run->views. Returns its rows, 0 at the end, -1 with an error in run->result.
int64_t sluice_fetch(sluice_run *run);

// Frees the result. Must follow sluice_execute, also after an error.
void sluice_finish(sluice_run *run);

// The same for Go: an exception of DuckDB's is returned as a text to be freed, NULL is none.
char *sluice_try_fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t start, idx_t rows, bool copy);
char *sluice_try_fill_some(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t low, idx_t size,
                           const int32_t *rows, idx_t n);
char *sluice_try_execute(sluice_run *run, bool parameter, int64_t micros, bool *ok);
char *sluice_try_fetch(sluice_run *run, int64_t *rows);

#endif
