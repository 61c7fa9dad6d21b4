#include "scan.h"

#include <string.h>

bool sluice_execute(sluice_run *run, bool parameter, int64_t micros) {
	memset(&run->result, 0, sizeof run->result);
	run->chunk = NULL;
	if (parameter) {
		duckdb_timestamp at = {micros};
		duckdb_bind_timestamp_tz(run->statement, 1, at);
	}
	return duckdb_execute_prepared_streaming(run->statement, &run->result) == DuckDBSuccess;
}

// Describes vector, which has the given rows, and its children. A streaming result has been copied into flat vectors, at
// every depth, so data and validity are all there is.
void sluice_view_vector(sluice_view *views, const sluice_node *node, duckdb_vector vector, idx_t rows) {
	views->data = duckdb_vector_get_data(vector);
	views->valid = duckdb_vector_get_validity(vector);
	views->rows = rows;
	if (node->layout == SLUICE_LIST || node->layout == SLUICE_MAP) {
		rows = duckdb_list_vector_get_size(vector);
		vector = duckdb_list_vector_get_child(vector);
	}
	const sluice_node *child = node + 1;
	for (int i = 0; i < node->children; i++) {
		duckdb_vector v = node->layout == SLUICE_LIST ? vector : duckdb_struct_vector_get_child(vector, i);
		sluice_view_vector(views + (child - node), child, v, rows);
		child += child->size;
	}
}

int64_t sluice_fetch(sluice_run *run) {
	for (;;) {
		duckdb_destroy_data_chunk(&run->chunk);
		run->chunk = duckdb_fetch_chunk(run->result);
		if (run->chunk == NULL) {
			return duckdb_result_error(&run->result) == NULL ? 0 : -1;
		}
		idx_t rows = duckdb_data_chunk_get_size(run->chunk);
		if (rows == 0) {
			continue;
		}
		const sluice_node *node = run->nodes;
		for (idx_t i = 0; i < run->column_count; i++) {
			sluice_view_vector(run->views + (node - run->nodes), node, duckdb_data_chunk_get_vector(run->chunk, i), rows);
			node += node->size;
		}
		return (int64_t)rows;
	}
}

void sluice_finish(sluice_run *run) {
	duckdb_destroy_data_chunk(&run->chunk);
	duckdb_destroy_result(&run->result);
}
