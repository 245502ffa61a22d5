package acp_test

import (
	"bufio"
	"io"
)

func newPipe() (*io.PipeReader, *io.PipeWriter) { return io.Pipe() }

// scan sends the lines of r and closes the channel at the end.
func scan(r io.Reader, lines chan<- string) {
	defer close(lines)
	s := bufio.NewScanner(r)
	for s.Scan() {
		lines <- s.Text()
	}
}
