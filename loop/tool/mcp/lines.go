package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
)

const (
	// maxMessage bounds one message; images come in base64.
	maxMessage = 64 << 20
	// maxJunk is how many lines that are no messages are passed over.
	maxJunk = 1000
)

var errLong = errors.New("a line of its stdout is too long")

// lines reads a server's stdout and passes on what can be a message. Many servers
// also print a greeting or a warning there; other clients pass over that, and so
// does this, with a note in the log.
type lines struct {
	r    *bufio.Reader
	log  *slog.Logger
	rest []byte // of the line being passed on

	reading sync.Mutex // guards r and rest

	mu   sync.Mutex
	junk int
	said string // the first line that was passed over

	// over is closed when nobody reads any more, at the end or before.
	over chan struct{}
	once sync.Once
}

func newLines(f *os.File, log *slog.Logger) *lines {
	return &lines{r: bufio.NewReaderSize(f, 64<<10), log: log, over: make(chan struct{})}
}

// Read implements io.Reader. It is called by one goroutine, the SDK's.
func (l *lines) Read(p []byte) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	for len(l.rest) == 0 {
		line, err := l.line()
		if message(line) {
			l.rest = append(bytes.TrimSpace(line), '\n')
			break // the error, if any, comes again
		}
		if len(bytes.TrimSpace(line)) > 0 && !l.skip(line) {
			l.end()
			return 0, errors.New("what it writes to its stdout is not MCP")
		}
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				err = io.EOF
			}
			l.end()
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads a line, which may be the last without a line end.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxMessage {
			return nil, errLong
		}
	}
}

func message(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && bytes.Contains(line, []byte(`"jsonrpc"`)) && json.Valid(line)
}

func (l *lines) skip(line []byte) bool {
	text := excerpt(strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxLogLine)]), "\uFFFD")))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.junk == 0 {
		l.said = text
	}
	l.junk++
	l.log.Warn("a line of an MCP server's stdout is not a message and was passed over", "line", text)
	return l.junk <= maxJunk
}

func (l *lines) skipped() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}

// Close implements io.Closer. The pipe itself stays until the process has ended:
// a server that cannot write does not end well.
func (l *lines) Close() error {
	l.end()
	return nil
}

func (l *lines) end() { l.once.Do(func() { close(l.over) }) }

// drained waits until what the process left in the pipe has been read. The SDK
// may have closed its end before, when the process no longer took its requests;
// what it did not read may say why.
func (l *lines) drained() {
	<-l.over
	l.reading.Lock()
	defer l.reading.Unlock()
	for {
		line, err := l.line()
		if len(bytes.TrimSpace(line)) > 0 && !message(line) && !l.skip(line) || err != nil {
			return
		}
	}
}
