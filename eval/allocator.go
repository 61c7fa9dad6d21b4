package eval

/*
#include <malloc.h>

// glibc learns from the first large block that is freed to carve later ones, up to 32 MB, out of arenas, which it has for
// every few threads and which seldom shrink.
static void give_back(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}
*/
import "C"

// GiveBack makes C's allocator return large blocks to the system as soon as they are free: DuckDB's, and those of the store's cache
// and memtables. It is for a process with a limit of memory, and is called before the first engine is opened.
func GiveBack() { C.give_back() }
