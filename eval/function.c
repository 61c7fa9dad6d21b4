#include "_cgo_export.h"
#include "scan.h"

#include <stdlib.h>

// What DuckDB keeps of a function: the layout of its arguments and of its result.
typedef struct {
	sluice_node *nodes; // of the arguments, one tree after the other, then of the result
	idx_t arguments;
	idx_t argument_nodes;
	duckdb_logical_type *types; // of the arguments
	bool quiet;
} function;

static void destroy(void *data) {
	function *f = data;
	for (idx_t i = 0; i < f->arguments; i++) {
		duckdb_destroy_logical_type(&f->types[i]);
	}
	free(f->types);
	free(f->nodes);
	free(f);
}

// Flat vectors are all that view understands. DuckDB has flattened the arguments, but not what is inside lists.
static duckdb_vector flat(duckdb_vector vector, const sluice_node *node, duckdb_logical_type type, idx_t rows) {
	if (node->children == 0) {
		return vector;
	}
	duckdb_selection_vector all = duckdb_create_selection_vector(rows);
	sel_t *selected = duckdb_selection_vector_get_data_ptr(all);
	for (idx_t i = 0; i < rows; i++) {
		selected[i] = (sel_t)i;
	}
	duckdb_vector copy = duckdb_create_vector(type, rows);
	duckdb_vector_copy_sel(vector, copy, all, rows, 0, 0);
	duckdb_destroy_selection_vector(all);
	return copy;
}

static void call(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	const function *f = duckdb_scalar_function_get_extra_info(info);
	idx_t rows = duckdb_data_chunk_get_size(input);
	if (rows == 0) {
		return;
	}
	const int64_t *handles = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
	sluice_view *views = calloc(f->argument_nodes, sizeof *views);
	duckdb_vector *vectors = calloc(f->arguments, sizeof *vectors);
	const sluice_node *node = f->nodes;
	for (idx_t i = 0; i < f->arguments; i++) {
		duckdb_vector v = duckdb_data_chunk_get_vector(input, i + 1);
		vectors[i] = flat(v, node, f->types[i], rows);
		sluice_view_vector(views + (node - f->nodes), node, vectors[i], rows);
		node += node->size;
	}
	char *error = sluiceCall((uintptr_t)handles[0], f->quiet, rows, views, f->argument_nodes, f->nodes + f->argument_nodes, output);
	if (error != NULL) {
		duckdb_scalar_function_set_error(info, error);
		free(error);
	}
	node = f->nodes;
	for (idx_t i = 0; i < f->arguments; i++) {
		if (node->children > 0) {
			duckdb_destroy_vector(&vectors[i]);
		}
		node += node->size;
	}
	free(vectors);
	free(views);
}

duckdb_state sluice_register_function(duckdb_connection connection, const char *name, bool quiet, duckdb_logical_type *types,
                                      idx_t arguments, sluice_node *nodes, idx_t argument_nodes) {
	function *f = calloc(1, sizeof *f);
	f->nodes = nodes;
	f->arguments = arguments;
	f->argument_nodes = argument_nodes;
	f->types = types;
	f->quiet = quiet;
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type bigint = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_scalar_function_set_name(function, name);
	duckdb_scalar_function_add_parameter(function, bigint);
	for (idx_t i = 0; i < arguments; i++) {
		duckdb_scalar_function_add_parameter(function, types[i]);
	}
	duckdb_scalar_function_set_return_type(function, types[arguments]);
	duckdb_scalar_function_set_special_handling(function); // NULL comes to the function like other values
	if (!quiet) {
		duckdb_scalar_function_set_volatile(function);
	}
	duckdb_scalar_function_set_extra_info(function, f, destroy);
	duckdb_scalar_function_set_function(function, call);
	duckdb_state state = duckdb_register_scalar_function(connection, function);
	duckdb_destroy_logical_type(&bigint);
	duckdb_destroy_logical_type(&types[arguments]);
	duckdb_destroy_scalar_function(&function);
	return state;
}
