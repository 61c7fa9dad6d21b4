// DuckDB's C functions let C++ exceptions through, most of all when memory runs out. Above a function of Go that would end the process, so
// what Go calls and what may allocate is called here.
extern "C" {
#include "scan.h"
}

#include <cstring>
#include <exception>

namespace {

template <typename Call> char *guarded(Call call) {
	try {
		call();
		return nullptr;
	} catch (const std::exception &e) {
		return strdup(e.what());
	} catch (...) {
		return strdup("an exception of no known type");
	}
}

} // namespace

extern "C" char *sluice_try_fill(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t start, idx_t rows,
                                 bool copy) {
	return guarded([&] { sluice_fill(vector, node, buffers, start, rows, copy); });
}

extern "C" char *sluice_try_fill_some(duckdb_vector vector, const sluice_node *node, const sluice_buffers *buffers, idx_t low, idx_t size,
                                      const int32_t *rows, idx_t n) {
	return guarded([&] { sluice_fill_some(vector, node, buffers, low, size, rows, n); });
}

extern "C" char *sluice_try_execute(sluice_run *run, bool parameter, int64_t micros, bool *ok) {
	return guarded([&] { *ok = sluice_execute(run, parameter, micros); });
}

extern "C" char *sluice_try_fetch(sluice_run *run, int64_t *rows) {
	return guarded([&] { *rows = sluice_fetch(run); });
}
