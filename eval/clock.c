#include "_cgo_export.h"
#include "scan.h"

// Every row gets the time of the batch at hand.
static void batch_time(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	idx_t n = duckdb_data_chunk_get_size(input);
	if (n == 0) {
		return;
	}
	const int64_t *handles = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
	int64_t micros;
	if (!sluiceClock((uintptr_t)handles[0], &micros)) {
		duckdb_scalar_function_set_error(info, "no such clock");
		return;
	}
	duckdb_timestamp *out = duckdb_vector_get_data(output);
	for (idx_t i = 0; i < n; i++) {
		out[i].micros = micros;
	}
}

duckdb_state sluice_register_clock(duckdb_connection connection) {
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type bigint = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_logical_type timestamp = duckdb_create_logical_type(DUCKDB_TYPE_TIMESTAMP_TZ);
	duckdb_scalar_function_set_name(function, SLUICE_CLOCK);
	duckdb_scalar_function_add_parameter(function, bigint);
	duckdb_scalar_function_set_return_type(function, timestamp);
	duckdb_scalar_function_set_volatile(function); // else it is computed once, when the statement is prepared
	duckdb_scalar_function_set_function(function, batch_time);
	duckdb_state state = duckdb_register_scalar_function(connection, function);
	duckdb_destroy_logical_type(&bigint);
	duckdb_destroy_logical_type(&timestamp);
	duckdb_destroy_scalar_function(&function);
	return state;
}
