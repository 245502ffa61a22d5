package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"testing"
)

// FuzzLines: whatever a server writes to its stdout, what is passed on is JSON, a
// value a line, and the messages among its lines in their order; nothing hangs.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"hello\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "{\"jsonrpc\":\"2.0\"}", "[{\"jsonrpc\":\"2.0\"}]\r\n\r\n \n{", "\xff\n\x00",
		"{\"jsonrpc\":\"2.0\",\"a\":\"\u2028\"}\n{\"jsonrpc\"\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() { // ends when all is read, or the pipe is closed
			_, _ = w.Write(data)
			w.Close()
		}()
		l := newLines(r, slog.New(slog.DiscardHandler))
		got, _ := io.ReadAll(l) // an error says that too much is no message
		l.drained()
		var want []byte
		for line := range bytes.Lines(data) {
			if message(line) {
				want = append(append(want, bytes.TrimSpace(line)...), '\n')
			}
		}
		if !bytes.HasPrefix(want, got) || len(got) < len(want) && bytes.Count(data, []byte("\n")) <= maxJunk {
			t.Fatalf("%q was passed on of %q, want %q", got, data, want)
		}
		for line := range bytes.Lines(got) {
			if !json.Valid(line) {
				t.Fatalf("%q is no message", line)
			}
		}
	})
}
