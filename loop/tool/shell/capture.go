package shell

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"acp-agent/internal/lossy"
)

const (
	// streamLimit is what the model sees of one stream: half of it from the
	// start, half from the end.
	streamLimit = 64_000
	// spillLimit bounds the file that a stream's full output goes to.
	spillLimit = 64 << 20
)

// capture keeps one output stream in bounded memory: its head and its tail, and
// all of it in a file once it outgrows them.
type capture struct {
	spill func() (*os.File, error) // nil: no file
	show  func(string)             // nil: not shown while it runs

	mu    sync.Mutex
	head  []byte // the first bytes, at most streamLimit
	tail  []byte // the last bytes, once head is full; a ring that starts at next
	next  int
	total int64  // bytes since the last take
	part  []byte // an incomplete rune at the end of what was shown

	file    *os.File
	written int64
	closed  bool
	path    string
	lost    string // why the file does not hold everything
}

// Write never fails: a full disk must not end the command.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.keep(p)
	text := ""
	if c.show != nil {
		text = c.showable(p)
	}
	c.mu.Unlock()
	if text != "" {
		c.show(text)
	}
	return len(p), nil
}

func (c *capture) keep(p []byte) {
	c.total += int64(len(p))
	if c.file != nil {
		c.save(p)
	} else if c.total > streamLimit {
		c.open()
		c.save(c.head)
		c.save(p)
	}
	n := min(streamLimit-len(c.head), len(p))
	c.head = append(c.head, p[:n]...)
	p = p[n:]
	const half = streamLimit / 2
	if len(p) > half {
		p = p[len(p)-half:]
	}
	if n := min(half-len(c.tail), len(p)); n > 0 {
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % half
		p = p[n:]
	}
}

func (c *capture) open() {
	if c.spill == nil || c.lost != "" || c.closed {
		return
	}
	f, err := c.spill()
	if err != nil {
		c.lost = "it could not be saved: " + err.Error()
		return
	}
	c.file, c.path = f, f.Name()
}

func (c *capture) save(p []byte) {
	if c.file == nil || c.lost != "" {
		return
	}
	if room := spillLimit - c.written; int64(len(p)) > room {
		p = p[:room]
		c.lost = fmt.Sprintf("its first %d bytes", spillLimit)
	}
	n, err := c.file.Write(p)
	c.written += int64(n)
	if err != nil {
		c.lost = "the disk refused the rest: " + err.Error()
	}
}

// showable returns p as text for Progress, holding back a rune that is cut.
func (c *capture) showable(p []byte) string {
	if len(c.part) > 0 {
		p = append(c.part, p...)
		c.part = nil
	}
	cut := len(p) - cutRune(p)
	c.part = bytes.Clone(p[cut:])
	return valid(p[:cut])
}

// close ends the file. The capture can still be read.
func (c *capture) close() {
	c.mu.Lock()
	rest := valid(c.part)
	c.part, c.closed = nil, true
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
	c.mu.Unlock()
	if rest != "" && c.show != nil {
		c.show(rest)
	}
}

// text is what the model sees.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := c.render()
	return text
}

// take is text, and forgets what it returned. A rune that is cut because the command
// still writes stays for the next.
func (c *capture) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, cut := c.render()
	c.head, c.tail, c.next, c.total = cut, nil, 0, int64(len(cut))
	return text
}

// render also returns what it leaves out of the end: a rune that is yet to come whole.
func (c *capture) render() (text string, cut []byte) {
	open := func(p []byte) []byte {
		if c.closed {
			return nil
		}
		return bytes.Clone(p[len(p)-cutRune(p):])
	}
	if c.total <= streamLimit {
		cut = open(c.head)
		return valid(c.head[:len(c.head)-len(cut)]), cut
	}
	const half = streamLimit / 2
	// head still holds streamLimit bytes; its second half is part of the tail
	// when little was dropped.
	rest := append(bytes.Clone(c.head[half:]), c.tail[c.next:]...)
	rest = append(rest, c.tail[:c.next]...)
	cut = open(rest)
	rest = rest[:len(rest)-len(cut)]
	if len(rest) <= half { // without the rune it is no more than the limit
		return valid(append(bytes.Clone(c.head[:half]), rest...)), cut
	}
	tail := rest[len(rest)-half:]
	head := c.head[:half]
	head = head[:len(head)-cutRune(head)]
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	gone := c.total - int64(len(head)) - int64(len(tail)) - int64(len(cut))
	note := fmt.Sprintf("%d bytes left out here", gone)
	switch {
	case c.path != "" && c.lost != "":
		note += "; " + c.path + " holds the output, but " + c.lost
	case c.path != "":
		note += "; the full output is in " + c.path
	case c.lost != "":
		note += "; " + c.lost
	}
	return line(valid(head)) + "[" + note + "]\n" + valid(tail), cut
}

// cutRune returns how many bytes at the end of p begin a rune and do not end it.
func cutRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		b := p[len(p)-n]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// valid is p as text; bytes that are not UTF-8 become U+FFFD.
func valid(p []byte) string { return lossy.Text(p) }

// line ends s with a line break unless it is empty.
func line(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// spills is a private directory for full outputs, made when first needed.
type spills struct {
	parent string

	mu     sync.Mutex
	dir    string
	n      int
	closed bool
}

// file opens a new file that only its owner can read.
func (s *spills) file(name string) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, os.ErrClosed
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp(s.parent, "acp-agent-output-") // 0700
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	s.n++
	return os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("%03d-%s.txt", s.n, name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// close removes the directory.
func (s *spills) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

var _ io.Writer = (*capture)(nil)
