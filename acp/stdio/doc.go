// Package stdio moves JSON-RPC messages over a pair of byte streams, one JSON value a line: framing,
// limits, the checks that a line must pass before anyone sees it, and the one ordered queue of writes.
//
// It knows what a JSON-RPC message is and not what any method means. It does not open the process's
// own stdin and stdout: the command takes those and passes them in.
//
// # Reading
//
// A line ends in \n or \r\n, or at the end of input. Blank lines and a byte order mark at the start
// are skipped. A line that is no message never ends the connection; it is answered, and reading goes
// on:
//
//	not JSON, not UTF-8                              -32700, id null
//	JSON, but no JSON-RPC message; a batch           -32600, the id if it can be used, else null
//	longer than the limit                            -32600, id null; the rest of the line is skipped
//
// A line is held once. Params and results are slices of it.
//
// # Writing
//
// All messages go through one queue, in the order in which they were handed over, and one goroutine
// writes them: at once when the queue was empty, and together with all that has come meanwhile when
// it was not. Where the writer can write without waiting (PromptWriter), a message after a silence
// is written by who brings it, which spares the change of threads; of messages that follow each other
// fast, as the deltas of a stream, the goroutine makes fewer writes. WriteFrame waits while more than
// the budget is queued, so that a peer which does not read slows the producer down instead of filling
// memory; WriteObject, which carries answers, does not wait: who answers asks for Room first. The
// first write error ends the stream for reading and writing alike.
package stdio
