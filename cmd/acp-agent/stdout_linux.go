package main

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"acp-agent/acp/stdio"
)

// protocolOut is the writer of the protocol: stdout, which on Linux can be written
// to without waiting although its descriptor, which others may share, stays in
// blocking mode.
func protocolOut(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return w
	}
	p := &promptFile{File: f, raw: raw}
	p.write = p.pwritev2
	return p
}

// promptFile is a stdio.PromptWriter on a pipe or a socket.
type promptFile struct {
	*os.File
	raw   syscall.RawConn
	write func(fd uintptr) bool // pwritev2, made once

	// Of the call at hand: stdio makes one at a time.
	iov [1][]byte
	n   int
	err error
}

var _ stdio.PromptWriter = (*promptFile)(nil)

// WritePrompt implements stdio.PromptWriter by pwritev2(2) with RWF_NOWAIT: Linux
// takes it for sockets and pipes since 6.4 and for other files not at all.
func (p *promptFile) WritePrompt(b []byte) (int, error) {
	p.iov[0] = b
	err := p.raw.Write(p.write)
	p.iov[0] = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(p.err, unix.EAGAIN), errors.Is(p.err, unix.EINTR):
		return 0, nil
	case p.err != nil:
		return 0, os.NewSyscallError("pwritev2", p.err)
	}
	return p.n, nil
}

func (p *promptFile) pwritev2(fd uintptr) bool {
	p.n, p.err = unix.Pwritev2(int(fd), p.iov[:], -1, unix.RWF_NOWAIT)
	return true
}
