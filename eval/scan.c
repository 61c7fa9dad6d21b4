#include "_cgo_export.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(duckdb_string_t) == 16, "string_t");
_Static_assert(sizeof(duckdb_list_entry) == 16, "list entry");
_Static_assert(sizeof(duckdb_hugeint) == 16, "hugeint");

#define INLINE_BYTES 12 // a duckdb_string_t of up to so many bytes holds them itself

// One pass over a source. DuckDB destroys it with the result.
typedef struct {
	const sluice_source *source;
	uintptr_t pull; // handle of the Go scan; 0 unless the source is pulled
	bool ended;
	const sluice_buffers *buffers; // of the rows at hand
	sluice_buffers *own;           // the same, when they are ours to free
	idx_t next, end;               // rows at hand
	idx_t row;                     // number of the row at next, within the whole input
	idx_t column_count;
	idx_t columns[]; // columns of the source that DuckDB wants
} sluice_scan;

static void bind(duckdb_bind_info info) {
	duckdb_value address = duckdb_bind_get_parameter(info, 0);
	const sluice_source *source = sluiceSource((uintptr_t)duckdb_get_int64(address));
	duckdb_destroy_value(&address);
	if (source == NULL) {
		duckdb_bind_set_error(info, "no such source");
		return;
	}
	for (idx_t i = 0; i < source->column_count; i++) {
		duckdb_bind_add_result_column(info, source->names[i], source->types[i]);
	}
	duckdb_bind_set_cardinality(info, source->cardinality, false);
	duckdb_bind_set_bind_data(info, (void *)source, NULL);
}

static void destroy(void *data) {
	sluice_scan *scan = data;
	if (scan->pull != 0) {
		sluiceClose(scan->pull);
	}
	free(scan->own);
	free(scan);
}

static void init(duckdb_init_info info) {
	const sluice_source *source = duckdb_init_get_bind_data(info);
	idx_t columns = duckdb_init_get_column_count(info);
	sluice_scan *scan = calloc(1, sizeof *scan + columns * sizeof scan->columns[0]);
	scan->source = source;
	scan->column_count = columns;
	for (idx_t i = 0; i < columns; i++) {
		scan->columns[i] = duckdb_init_get_column_index(info, i);
	}
	if (source->pulled) {
		scan->buffers = scan->own = calloc(source->node_count, sizeof *scan->own);
		scan->pull = sluiceOpen(source->handle);
		if (scan->pull == 0) {
			duckdb_init_set_error(info, "the scan could not be opened");
		}
	} else {
		scan->buffers = source->buffers;
		scan->next = scan->row = source->first;
		scan->end = source->end;
	}
	duckdb_init_set_init_data(info, scan, destroy);
	duckdb_init_set_max_threads(info, 1);
}

static const uint64_t *valid_of(const sluice_buffers *b) { return (const uint64_t *)b->valid; }
static const uint32_t *offsets_of(const sluice_buffers *b) { return (const uint32_t *)b->offsets; }

static bool is_valid(const uint64_t *valid, idx_t i) { return valid[i / 64] >> (i % 64) & 1; }

// Copies the bits of n rows from start on.
static void fill_validity(duckdb_vector vector, const uint64_t *valid, idx_t start, idx_t n) {
	if (valid == NULL) {
		uint64_t *stale = duckdb_vector_get_validity(vector);
		if (stale != NULL) {
			memset(stale, 0xff, (n + 63) / 64 * 8);
		}
		return;
	}
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *out = duckdb_vector_get_validity(vector);
	idx_t word = start / 64, last = (start + n - 1) / 64, shift = start % 64;
	if (shift == 0) {
		memcpy(out, valid + word, (n + 63) / 64 * 8);
		return;
	}
	for (idx_t i = 0; i < (n + 63) / 64; i++, word++) {
		out[i] = valid[word] >> shift;
		if (word < last) {
			out[i] |= valid[word + 1] << (64 - shift);
		}
	}
}

static uint64_t load4(const char *p) {
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

// Writes a string of up to 12 bytes into the string_t, the rest of it zero. Loads overlap where the length is no multiple
// of four; the bytes they share are the same.
static inline void inline_text(duckdb_string_t *out, const char *text, uint32_t length) {
	uint64_t head = 0; // the first eight bytes
	uint32_t tail = 0; // the other four
	if (length >= 8) {
		memcpy(&head, text, 8);
		tail = (uint32_t)(load4(text + length - 4) >> (8 * (12 - length)));
	} else if (length >= 4) {
		head = load4(text) | load4(text + length - 4) << (8 * (length - 4));
	} else {
		for (uint32_t i = 0; i < length; i++) {
			head |= (uint64_t)(uint8_t)text[i] << (8 * i);
		}
	}
	out->value.inlined.length = length;
	memcpy(out->value.inlined.inlined, &head, 8);
	memcpy(out->value.inlined.inlined + 8, &tail, 4);
}

// Longer strings stay where they are, in memory that is pinned until the result is gone; with copy DuckDB gets its own,
// since the memory of a pulled piece is used again while DuckDB may still hold a chunk of it.
static void fill_text(duckdb_vector vector, const sluice_buffers *b, idx_t start, idx_t n, bool copy) {
	duckdb_string_t *out = duckdb_vector_get_data(vector);
	const uint32_t *offsets = offsets_of(b) + start;
	for (idx_t i = 0; i < n; i++) {
		const char *text = (const char *)b->bytes + offsets[i];
		uint32_t length = offsets[i + 1] - offsets[i];
		if (length <= INLINE_BYTES) {
			inline_text(out + i, text, length);
		} else if (copy) {
			duckdb_unsafe_vector_assign_string_element_len(vector, i, text, length);
		} else {
			out[i].value.pointer.length = length;
			memcpy(out[i].value.pointer.prefix, text, 4);
			out[i].value.pointer.ptr = (char *)text;
		}
	}
}

// A null struct has null members in DuckDB; ours may hold anything there.
static void set_null(duckdb_vector vector, const sluice_node *node, idx_t row) {
	duckdb_vector_ensure_validity_writable(vector);
	duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
	if (node->layout != SLUICE_STRUCT) {
		return;
	}
	const sluice_node *child = node + 1;
	for (int i = 0; i < node->children; i++) {
		set_null(duckdb_struct_vector_get_child(vector, i), child, row);
		child += child->size;
	}
}

static void fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *b, idx_t start, idx_t n, bool copy);

static void fill_struct(duckdb_vector vector, const sluice_node *node, const sluice_buffers *b, idx_t start, idx_t n,
                        bool copy) {
	const sluice_node *child = node + 1;
	for (int i = 0; i < node->children; i++) {
		fill(duckdb_struct_vector_get_child(vector, i), child, b + (child - node), start, n, copy);
		child += child->size;
	}
	const uint64_t *valid = valid_of(b);
	for (idx_t i = 0; valid != NULL && i < n; i++) {
		if (!is_valid(valid, start + i)) {
			set_null(vector, node, i);
		}
	}
}

static void fill_list(duckdb_vector vector, const sluice_node *node, const sluice_buffers *b, idx_t start, idx_t n,
                      bool copy) {
	const uint32_t *offsets = offsets_of(b) + start;
	uint32_t first = offsets[0];
	idx_t total = offsets[n] - first;
	duckdb_list_vector_reserve(vector, total);
	duckdb_list_vector_set_size(vector, total);
	duckdb_list_entry *entries = duckdb_vector_get_data(vector);
	for (idx_t i = 0; i < n; i++) {
		entries[i].offset = offsets[i] - first;
		entries[i].length = offsets[i + 1] - offsets[i];
	}
	duckdb_vector elements = duckdb_list_vector_get_child(vector);
	const sluice_node *child = node + 1;
	for (int i = 0; i < node->children; i++) {
		duckdb_vector v = node->layout == SLUICE_LIST ? elements : duckdb_struct_vector_get_child(elements, i);
		fill(v, child, b + (child - node), first, total, copy);
		child += child->size;
	}
}

// Writes n nulls.
static void fill_nulls(duckdb_vector vector, const sluice_node *node, idx_t n) {
	duckdb_vector_ensure_validity_writable(vector);
	memset(duckdb_vector_get_validity(vector), 0, (n + 63) / 64 * 8);
	if (node->layout == SLUICE_LIST || node->layout == SLUICE_MAP) {
		duckdb_list_vector_set_size(vector, 0);
		memset(duckdb_vector_get_data(vector), 0, n * sizeof(duckdb_list_entry));
	}
	if (node->layout == SLUICE_STRUCT) {
		const sluice_node *child = node + 1;
		for (int i = 0; i < node->children; i++) {
			fill_nulls(duckdb_struct_vector_get_child(vector, i), child, n);
			child += child->size;
		}
	}
}

// Writes n rows of a node, from start on, to the vector.
static void fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *b, idx_t start, idx_t n, bool copy) {
	if (n == 0) {
		return;
	}
	if (node->unused) {
		fill_nulls(vector, node, n);
		return;
	}
	fill_validity(vector, valid_of(b), start, n);
	switch (node->layout) {
	case SLUICE_FIXED:
		memcpy(duckdb_vector_get_data(vector), (const char *)b->fixed + start * node->width, n * node->width);
		break;
	case SLUICE_DECIMAL16: {
		int16_t *out = duckdb_vector_get_data(vector);
		const int64_t *in = (const int64_t *)b->fixed + start;
		for (idx_t i = 0; i < n; i++) {
			out[i] = (int16_t)in[i];
		}
		break;
	}
	case SLUICE_DECIMAL32: {
		int32_t *out = duckdb_vector_get_data(vector);
		const int64_t *in = (const int64_t *)b->fixed + start;
		for (idx_t i = 0; i < n; i++) {
			out[i] = (int32_t)in[i];
		}
		break;
	}
	case SLUICE_TEXT:
		fill_text(vector, b, start, n, copy);
		break;
	case SLUICE_STRUCT:
		fill_struct(vector, node, b, start, n, copy);
		break;
	case SLUICE_LIST:
	case SLUICE_MAP:
		fill_list(vector, node, b, start, n, copy);
		break;
	}
}

void sluice_fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t start, idx_t rows,
                 bool copy) {
	fill(vector, node, buffers, start, rows, copy);
}

void sluice_fill_some(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t low, idx_t size,
                      const int32_t *rows, idx_t n) {
	fill(vector, node, buffers, low, size, false);
	duckdb_selection_vector chosen = duckdb_create_selection_vector(n);
	sel_t *out = duckdb_selection_vector_get_data_ptr(chosen);
	for (idx_t i = 0; i < n; i++) {
		out[i] = (sel_t)(rows[i] - (int32_t)low);
	}
	duckdb_slice_vector(vector, chosen, n);
	duckdb_destroy_selection_vector(chosen);
}

static void fill_row_numbers(duckdb_vector vector, idx_t row, idx_t n) {
	int32_t *out = duckdb_vector_get_data(vector);
	for (idx_t i = 0; i < n; i++) {
		out[i] = (int32_t)(row + i);
	}
}

// Has rows at hand, pulling the next piece when there are none left. False at the end and after an error.
static bool advance(duckdb_function_info info, sluice_scan *scan) {
	if (scan->next < scan->end) {
		return true;
	}
	if (scan->pull == 0 || scan->ended) {
		return false;
	}
	int64_t rows = sluicePull(scan->pull, scan->own);
	if (rows < 0) {
		duckdb_function_set_error(info, "the scan failed");
	}
	scan->next = 0;
	scan->end = rows > 0 ? (idx_t)rows : 0;
	scan->ended = rows <= 0;
	return rows > 0;
}

static void scan(duckdb_function_info info, duckdb_data_chunk output) {
	sluice_scan *scan = duckdb_function_get_init_data(info);
	const sluice_source *source = scan->source;
	if (!advance(info, scan)) {
		duckdb_data_chunk_set_size(output, 0);
		return;
	}
	idx_t n = scan->end - scan->next;
	if (n > duckdb_vector_size()) {
		n = duckdb_vector_size();
	}
	for (idx_t i = 0; i < scan->column_count; i++) {
		if (scan->columns[i] >= source->column_count) {
			continue; // count(*) wants rows of no column
		}
		idx_t root = source->roots[scan->columns[i]];
		duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
		if (source->nodes[root].layout == SLUICE_ROW) {
			fill_row_numbers(vector, scan->row, n);
		} else {
			fill(vector, source->nodes + root, scan->buffers + root, scan->next, n, scan->pull != 0);
		}
	}
	scan->next += n;
	scan->row += n;
	duckdb_data_chunk_set_size(output, n);
}

duckdb_state sluice_register_scan(duckdb_connection connection) {
	duckdb_table_function function = duckdb_create_table_function();
	duckdb_logical_type bigint = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_table_function_set_name(function, SLUICE_SCAN);
	duckdb_table_function_add_parameter(function, bigint);
	duckdb_table_function_set_bind(function, bind);
	duckdb_table_function_set_init(function, init);
	duckdb_table_function_set_function(function, scan);
	duckdb_table_function_supports_projection_pushdown(function, true);
	duckdb_state state = duckdb_register_table_function(connection, function);
	duckdb_destroy_logical_type(&bigint);
	duckdb_destroy_table_function(&function);
	return state;
}
