package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"acp-agent/internal/lossy"
)

// StreamText is the text of a stream (stderr, plain stdout) as it goes to the
// model: less the one line end, \n or \r\n, that echo puts there; bytes that
// are not UTF-8 become U+FFFD; nothing else is touched.
func StreamText(b []byte) string {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n > 1 && b[n-2] == '\r' {
			b = b[:n-2]
		}
	}
	return ValidText(b)
}

// ValidText decodes bytes as UTF-8; what is not becomes U+FFFD, as both vendors have it.
func ValidText(b []byte) string { return lossy.Text(b) }

// Visible returns the text with all that a screen would not show as it is
// written out: control characters, also those that move the cursor, marks that
// turn the direction or have no width, bytes that are not UTF-8. Lines stay lines,
// each but the first set in, so that none looks like what is around the text.
func Visible(s string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) || r == '\t' }
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", s[0])
		case r == '\n':
			b.WriteString("\n    ")
		case plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

var bom = []byte("\xef\xbb\xbf")

// TrimForTest returns the bytes that the first-character test of an output looks
// at: without a byte order mark and without leading blanks.
func TrimForTest(b []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(b, bom), " \t\r\n\v\f")
}

// WholeObject reports whether the output is one complete JSON object, so that
// nothing is gained by waiting for more.
func WholeObject(b []byte) bool {
	b = TrimForTest(b)
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}

// HasAnswer reports whether a JSON object with one of the members begins at the
// start of a line. A hook whose output is text for the vendor, because of a
// banner or a log line, may have meant that object as its answer
// (claude-code#21992, claude-mem#4081).
func HasAnswer(b []byte, members ...string) bool {
	const tries, limit = 100, 1 << 20
	b = b[:min(len(b), limit)]
	n := 0
	for len(b) > 0 && n < tries {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		if at := TrimForTest(line); len(at) > 0 && at[0] == '{' {
			n++
			var m map[string]json.RawMessage
			if json.NewDecoder(bytes.NewReader(b[len(line)-len(at):])).Decode(&m) == nil {
				for _, key := range members {
					if _, ok := m[key]; ok {
						return true
					}
				}
			}
		}
		b = rest
	}
	return false
}

// BesideAnswer is what whoever has written such a hook is told.
const BesideAnswer = "the JSON object in its output does not count, because other text is beside it: print the object and nothing else"

// Summary is the start of a stream for people and for the log: at most 500
// characters, cut on a rune.
func Summary(b []byte) string {
	const limit = 500
	if len(b) > 4*limit+4 {
		b = b[:4*limit+4]
	}
	s := strings.TrimSpace(ValidText(b))
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}

// whereLine is what an interpreter puts before the fault: where it happened (Node), or
// the source around it (Bun).
var whereLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((node:|file://|/|[A-Za-z]:[\\/]).*:\d+|\s*\d+ \| .*)$`)
})

// faultLine is a line that begins with the name of an error.
var faultLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(Uncaught )?([\w.]*(Error|Exception)( \[\w+\])?|error): `)
})

// Telling is the line of a failed program's stderr that says what was wrong, as
// short as Summary's: the first one, of a Python traceback the exception, and behind
// the place of a fault the line that begins with an error's name.
func Telling(stderr []byte) string {
	const limit = 64 << 10
	if len(stderr) > limit {
		stderr = stderr[:limit]
	}
	lines := strings.FieldsFunc(strings.TrimSpace(ValidText(stderr)), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return ""
	}
	line := lines[0]
	switch {
	case strings.HasPrefix(line, "Traceback (most recent call last)"):
		for _, l := range lines {
			// The last chain's exception stands behind its frames, which are set in.
			if !strings.HasPrefix(l, " ") && (strings.HasPrefix(line, "Traceback") || strings.HasPrefix(l, "Traceback")) {
				line = l
			}
		}
	case whereLine().MatchString(line):
		if i := slices.IndexFunc(lines, faultLine().MatchString); i > 0 {
			line = lines[i]
		}
	}
	return Summary([]byte(line))
}

// Head returns at most n bytes from the start of s, cut on a rune.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Tail returns at most n bytes from the end of s, cut on a rune.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// spill writes a text to a new file that only the person can read, in a
// directory that only the person can enter: hook output may hold secrets.
func spill(dir, name, text string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("keeping the full text of %s: no directory is set for it", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keeping the full text of %s: %w", name, err)
	}
	// CreateTemp makes the file 0600.
	f, err := os.CreateTemp(dir, fileSafe(name)+"-*.txt")
	if err != nil {
		return "", fmt.Errorf("keeping the full text of %s: %w", name, err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("keeping the full text of %s: %w", name, err)
	}
	return filepath.Clean(f.Name()), nil
}

func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}
