// Package exec is the sink that gives each batch to a program (D-46): the way to a target that Sluice does not know.
//
// # One process per batch
//
// The program gets the rows on standard input, as JSON objects one per line or as an Arrow IPC stream, and says with its
// exit code what became of them: 0 accepted, 75 (EX_TEMPFAIL) try again later, anything else stops the flow. The rows of a
// change feed come in order, with _change_type in front (D-43). Standard error goes to the log line by line, standard
// output too, at debug level. The environment says which batch it is:
//
//	SLUICE_PIPELINE, SLUICE_FLOW   whose batch
//	SLUICE_STORE, SLUICE_EPOCH     which store numbers it, and how often that was opened
//	SLUICE_GENERATION              rises at a full refresh; numbers start at 0 again
//	SLUICE_BATCH                   the number; 0 means that the target should be emptied first
//	SLUICE_BATCH_TIME              the batch's own time, RFC 3339
//	SLUICE_ROWS                    how many rows there are
//	SLUICE_REPLAY                  1 when the batch may have been delivered before, else not set
//
// The triple (flow, generation, batch) always means the same rows. A batch whose answer got lost comes again, so a program
// must remember the last number it took in its target, or do the same thing twice without harm. If Sluice is killed while
// it writes, the program sees an early end of its input: it must compare with SLUICE_ROWS before it accepts.
//
// # One process for all batches
//
// With persistent => true the program stays. Each batch is a line with a JSON object,
//
//	{"pipeline":"p","flow":"f","store":"..","epoch":1,"generation":0,"batch":7,"replay":false,"time":"2026-01-02T03:04:05Z","rows":2,"bytes":31}
//
// and then exactly that many bytes: the rows, in the same forms as above. The program reads all of them and answers with
// one line on standard output, a word and the batch's number: "ok 7", "retry 7" or "fail 7", the latter two with a message
// behind another blank if it likes. When the input ends it should exit. A program that exits in the middle is started anew
// with the next attempt; its exit code means what it does above, but 0 without an answer is a failure.
//
// # Stopping
//
// The program is started in a process group of its own, in the pipeline's folder. When the context of a write ends, the
// group is killed. When Sluice itself is killed, Linux kills the program with it, but not what the program has started; on other
// systems it lives on. Nothing is said about a program that leaves the group.
//
// The command is split into words at blanks, with quotes and backslashes as in a shell; no shell is started, so there are
// no variables, pipes or patterns unless the command is sh -c '...'.
package exec
