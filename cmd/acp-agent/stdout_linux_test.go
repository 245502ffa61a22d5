package main

import (
	"bytes"
	"io"
	"os"
	"testing"

	"acp-agent/acp/stdio"
)

// protocolOut never waits for a reader, says how much it has written, and leaves
// what it cannot write to so that the rest goes the other way.
func TestWritePrompt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	w.Fd() // puts it in blocking mode, as stdout is
	out := protocolOut(w).(stdio.PromptWriter)
	if n, err := out.WritePrompt([]byte("[1]\n")); n != 4 || err != nil {
		t.Skipf("this kernel cannot write to a pipe without waiting: %d, %v", n, err)
	}
	sent := []byte("[1]\n")
	chunk := bytes.Repeat([]byte("x"), 10_000)
	for full := false; !full; {
		n, err := out.WritePrompt(chunk)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, chunk[:n]...)
		full = n == 0
	}
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived of %d: %v", len(got), len(sent), err)
	}

	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := protocolOut(f).(stdio.PromptWriter).WritePrompt([]byte("x")); n != 0 || err == nil {
		t.Errorf("a file: %d, %v", n, err)
	}
	if _, ok := protocolOut(new(bytes.Buffer)).(stdio.PromptWriter); ok {
		t.Error("a buffer is no descriptor")
	}
}
