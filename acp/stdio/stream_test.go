package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"acp-agent/acp"
)

// readAll returns what a stream reads from in, and what it answered by itself.
func readAll(t testing.TB, r io.Reader, opts Options) (msgs []acp.Message, answers string, err error) {
	t.Helper()
	var out bytes.Buffer
	s := NewStream(r, &out, opts)
	for {
		var m acp.Message
		if err = s.ReadObject(&m); err != nil {
			break
		}
		msgs = append(msgs, m)
	}
	if cerr := s.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	return msgs, out.String(), err
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestReadLines(t *testing.T) {
	parseErr := fmt.Sprint(acp.CodeParseError)
	invalid := fmt.Sprint(acp.CodeInvalidRequest)
	for name, tc := range map[string]struct {
		in      string
		n       int      // messages
		answers []string // what each answer must contain
	}{
		"lines":                 {in: ping + "\n" + ping + "\n", n: 2},
		"carriage returns":      {in: ping + "\r\n" + ping + "\r\n", n: 2},
		"blank lines":           {in: "\n\r\n  \t\n" + ping + "\n\n", n: 1},
		"no newline at the end": {in: ping + "\n" + ping, n: 2},
		"byte order mark":       {in: "\ufeff" + ping + "\n", n: 1},
		"mark and blank line":   {in: "\ufeff\n" + ping, n: 1},
		"mark later":            {in: ping + "\n\ufeff" + ping + "\n" + ping, n: 2, answers: []string{parseErr}},
		"nothing":               {in: ""},
		"only blanks":           {in: "\n\n \r\n"},
		"not JSON":              {in: "{\n" + ping + "\n", n: 1, answers: []string{`"id":null,"error":{"code":` + parseErr}},
		"header of LSP":         {in: "Content-Length: 20\r\n\r\n" + ping + "\n", n: 1, answers: []string{parseErr}},
		"not UTF-8":             {in: "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n" + ping, n: 1, answers: []string{parseErr}},
		"binary":                {in: "\x00\x01\x02\n" + ping, n: 1, answers: []string{parseErr}},
		"batch":                 {in: "[" + ping + "]\n" + ping, n: 1, answers: []string{`"id":null,"error":{"code":` + invalid}},
		"no version, with id":   {in: `{"id":"x","method":"m"}` + "\n" + ping, n: 1, answers: []string{`"id":"x","error":{"code":` + invalid}},
		"null id":               {in: `{"jsonrpc":"2.0","id":null,"method":"m"}` + "\n", answers: []string{`"id":null`}},
		"torn last line":        {in: ping + "\n" + ping[:20], n: 1, answers: []string{parseErr}},
		"three bad ones":        {in: "1\n{\n[]\n" + ping, n: 1, answers: []string{invalid, parseErr, invalid}},
		// The bad answer still ends the call it was meant for, and is answered without its id.
		"malformed answer": {in: `{"jsonrpc":"2.0","id":3,"result":1,"error":{"code":1,"message":""}}` + "\n", n: 1, answers: []string{`"id":null`}},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{
				"whole":   strings.NewReader(tc.in),
				"by byte": iotest.OneByteReader(strings.NewReader(tc.in)),
				"eof":     iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				msgs, answers, err := readAll(t, r, Options{})
				if err != io.EOF || len(msgs) != tc.n {
					t.Errorf("%s: got %d messages and %v, want %d and EOF", kind, len(msgs), err, tc.n)
				}
				lines := strings.Split(strings.TrimSuffix(answers, "\n"), "\n")
				if answers == "" {
					lines = nil
				}
				if len(lines) != len(tc.answers) {
					t.Fatalf("%s: got the answers %q, want %d", kind, answers, len(tc.answers))
				}
				for i, want := range tc.answers {
					if !strings.Contains(lines[i], want) || !json.Valid([]byte(lines[i])) {
						t.Errorf("%s: answer %d is %s, want %s in it", kind, i, lines[i], want)
					}
				}
			}
		})
	}
}

func TestLineLimit(t *testing.T) {
	pad := func(n int) string { // a message of n bytes
		return ping[:len(ping)-1] + strings.Repeat(" ", n-len(ping)) + "}"
	}
	const limit = 200 << 10 // several read buffers
	for name, tc := range map[string]struct {
		in string
		n  int
		ok bool
	}{
		"at the limit":       {pad(limit) + "\n" + ping + "\n", 2, true},
		"at the limit, CRLF": {pad(limit) + "\r\n" + ping + "\n", 2, true},
		"one over":           {pad(limit+1) + "\n" + ping + "\n", 1, false},
		"far over":           {strings.Repeat("x", 5*limit) + "\n" + ping + "\n", 1, false},
		"over, at the end":   {strings.Repeat("x", 2*limit), 0, false},
		"at the limit, end":  {pad(limit), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			msgs, answers, err := readAll(t, strings.NewReader(tc.in), Options{MaxLine: limit})
			if err != io.EOF || len(msgs) != tc.n || (answers == "") != tc.ok {
				t.Errorf("got %d messages, %v and the answers %q", len(msgs), err, answers)
			}
			if !tc.ok && !strings.Contains(answers, `"id":null,"error":{"code":-32600`) {
				t.Errorf("got the answer %q", answers)
			}
		})
	}
}

// A4: a line of 20 MB costs no more than about twice its size.
func TestA4Memory(t *testing.T) {
	const size = 20 << 20
	in := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"data":"` + strings.Repeat("A", size) + `"}}` + "\n"
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			msgs, _, _ := readAll(b, strings.NewReader(in), Options{})
			if len(msgs) != 1 || len(msgs[0].Params) < size {
				b.Fatal("the message is not whole")
			}
		}
	})
	if got := res.AllocedBytesPerOp(); got > 5*size/2 {
		t.Errorf("a line of %d bytes allocated %d", len(in), got)
	}
}

func TestReadObjectIntoAnything(t *testing.T) {
	s := NewStream(strings.NewReader(ping+"\n"), io.Discard, Options{})
	defer s.Close()
	var v struct {
		Method string `json:"method"`
	}
	if err := s.ReadObject(&v); err != nil || v.Method != "ping" {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := s.ReadObject(&v); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if err := s.ReadObject(&v); err != io.EOF { // and stays so
		t.Errorf("got %v", err)
	}
}

// A6: the answer to bad JSON has the id null, and stands in order with what is written otherwise.
func TestA6ParseErrorHasNullID(t *testing.T) {
	_, answers, _ := readAll(t, strings.NewReader("{\n"), Options{})
	m, bad := acp.ParseMessage([]byte(strings.TrimSpace(answers)))
	if bad != nil || string(m.ID) != "null" || m.Error == nil || m.Error.Code != acp.CodeParseError {
		t.Errorf("got %q", answers)
	}
}

// A12: a read error ends the stream, both ways, and closes what is below it.
func TestA12ReadErrorClosesBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		s := NewStream(inR, outW, Options{})
		go func() {
			_, _ = inW.Write([]byte("\xff\xfe binary\n" + ping + "\n" + ping[:9]))
			inW.CloseWithError(boom)
		}()
		var out []byte
		read := make(chan struct{})
		go func() {
			out, _ = io.ReadAll(outR)
			close(read)
		}()
		var m acp.Message
		if err := s.ReadObject(&m); err != nil || m.Method != "ping" {
			t.Fatalf("got %+v, %v", m, err)
		}
		if err := s.ReadObject(&m); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-read // the peer sees the end
		if !strings.Contains(string(out), "-32700") {
			t.Errorf("the peer got %q", out)
		}
	})
}

// gate is a writer that lets one Write through for each token.
type gate struct {
	tokens chan struct{}
	mu     sync.Mutex
	writes []string
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.tokens
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes = append(g.writes, string(b))
	return len(b), nil
}

func TestWritesAreCoalescedAndOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{tokens: make(chan struct{})}
		s := NewStream(strings.NewReader(""), g, Options{})
		write := func(i int) {
			var err error
			if i%2 == 0 {
				err = s.WriteFrame(t.Context(), fmt.Appendf(nil, "%d\n", i))
			} else {
				err = s.WriteObject(json.RawMessage(fmt.Sprint(i)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write(0)
		synctest.Wait() // the writer has taken it
		for i := 1; i < 6; i++ {
			write(i)
		}
		close(g.tokens)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%q", g.writes); got != `["0\n" "1\n2\n3\n4\n5\n"]` {
			t.Errorf("got %s", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{tokens: make(chan struct{})}
		s := NewStream(strings.NewReader(""), g, Options{Budget: 100})
		frame := append(bytes.Repeat([]byte("1"), 59), '\n')
		if err := s.WriteFrame(t.Context(), frame); err != nil {
			t.Fatal(err)
		}
		// The second does not fit: it waits, until its context ends.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.WriteFrame(ctx, frame); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		// An answer does not wait.
		if err := s.WriteObject(&acp.Message{ID: acp.RequestId("1"), Result: json.RawMessage("{}")}); err != nil {
			t.Fatal(err)
		}
		// A waiter goes on once there is room.
		done := make(chan error, 1)
		go func() { done <- s.WriteFrame(t.Context(), frame) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		close(g.tokens)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		// A frame larger than the budget is taken when nothing is queued.
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteFrame(t.Context(), append(bytes.Repeat([]byte("2"), 500), '\n')); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWriteErrorEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		defer inW.Close()
		outR, outW := io.Pipe()
		broken := errors.New("broken pipe")
		s := NewStream(inR, outW, Options{Budget: 10})
		_ = s.WriteFrame(t.Context(), []byte("1234567\n"))
		got := make(chan error, 3)
		go func() {
			var m acp.Message
			got <- s.ReadObject(&m)
		}()
		go func() { got <- s.WriteFrame(t.Context(), []byte("1234567\n")) }()
		go func() { got <- s.Flush(t.Context()) }()
		synctest.Wait()
		outR.CloseWithError(broken)
		for range 3 {
			if err := <-got; !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
		if err := s.WriteObject(json.RawMessage("1")); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		for range 2 {
			if err := s.Close(); !errors.Is(err, broken) {
				t.Errorf("close: got %v", err)
			}
		}
	})
}

func TestCloseFlushesWithinItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, _ := io.Pipe()
		outR, outW := io.Pipe() // nobody reads it
		s := NewStream(inR, outW, Options{FlushTimeout: 7 * time.Second})
		_ = s.WriteFrame(t.Context(), []byte("1\n"))
		read := make(chan error, 1)
		go func() {
			var m acp.Message
			read <- s.ReadObject(&m)
		}()
		start := time.Now()
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "did not read") {
			t.Errorf("got %v", err)
		}
		if got := time.Since(start); got != 7*time.Second { // fake time, exact
			t.Errorf("Close took %v", got)
		}
		if err := <-read; !errors.Is(err, acp.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := s.WriteFrame(t.Context(), []byte("1\n")); !errors.Is(err, acp.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := outR.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer got %v", err)
		}
	})
}

func TestCloseRacesWriters(t *testing.T) {
	for range 200 {
		var out bytes.Buffer
		s := NewStream(strings.NewReader(""), &out, Options{Budget: 64})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for s.WriteFrame(context.Background(), []byte(`{"a":"`+strings.Repeat("x", 20)+`"}`+"\n")) == nil {
					_ = s.WriteObject(json.RawMessage(`{"b":1}`))
				}
			})
		}
		if err := s.Flush(t.Context()); err != nil && !errors.Is(err, acp.ErrClosed) {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Fatalf("a torn line: %q", line)
			}
		}
	}
}

func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var out bytes.Buffer
	s := NewStream(strings.NewReader(ping+"\n{\n"), &out, Options{Trace: func(dir string, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, dir+" "+string(line))
	}})
	var m acp.Message
	_ = s.ReadObject(&m)
	_ = s.WriteFrame(t.Context(), []byte("{}\n"))
	_ = s.WriteFrame(t.Context(), []byte("[1]\n[2]\n"))
	_ = s.ReadObject(&m)
	s.Close()
	joined := strings.Join(got, "\n")
	for _, want := range []string{"in " + ping, "in {", "out {}\nout [1]\nout [2]\n", `out {"jsonrpc":"2.0","id":null,"error"`} {
		if !strings.Contains(joined, want) {
			t.Errorf("no %q in\n%s", want, joined)
		}
	}
}

// FuzzReader checks that any input is cut into the same messages however it arrives, that reading ends
// with EOF, and that each line gives a message or an answer.
func FuzzReader(f *testing.F) {
	f.Add([]byte(ping+"\r\n\n{\n"+ping), uint8(3))
	f.Add([]byte("\ufeff"+ping+"\n[]\n\xff\n"), uint8(1))
	f.Add(bytes.Repeat([]byte("x"), 300), uint8(7))
	f.Add([]byte(`{"jsonrpc":"2.0","id":""}`), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, n uint8) {
		opts := Options{MaxLine: 200}
		a, aOut, errA := readAll(t, bytes.NewReader(in), opts)
		b, bOut, errB := readAll(t, &choppy{bytes.NewReader(in), int(n)%40 + 1}, opts)
		if errA != io.EOF || errB != io.EOF {
			t.Fatalf("got %v and %v", errA, errB)
		}
		if aOut != bOut || len(a) != len(b) {
			t.Fatalf("whole: %d messages and %q; in pieces: %d and %q", len(a), aOut, len(b), bOut)
		}
		for line := range strings.Lines(aOut) {
			if m, bad := acp.ParseMessage([]byte(line)); bad != nil || m.Error == nil {
				t.Fatalf("the answer %q is none", line)
			}
		}
		// What was read can be written and read again, unless it says nothing.
		a = slices.DeleteFunc(a, func(m acp.Message) bool { return m.Hollow() })
		var out bytes.Buffer
		s := NewStream(strings.NewReader(""), &out, Options{})
		for i := range a {
			if err := s.WriteObject(&a[i]); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if bytes.Count(out.Bytes(), []byte("\n")) != len(a) {
			t.Fatalf("%d messages became %q", len(a), out.String())
		}
	})
}

// choppy reads at most n bytes at once.
type choppy struct {
	r io.Reader
	n int
}

func (c *choppy) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.n)]) }

func BenchmarkReadMessage(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":12,"method":"session/prompt","params":{"sessionId":"0194d50a-8990","prompt":[{"type":"text","text":"make the test pass"}]}}` + "\n")
	s := NewStream(&repeat{line: line}, io.Discard, Options{})
	defer s.Close()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var m acp.Message
	for b.Loop() {
		if err := s.ReadObject(&m); err != nil {
			b.Fatal(err)
		}
	}
}

// repeat is an endless input of one line.
type repeat struct {
	line []byte
	off  int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := copy(b, r.line[r.off:])
	r.off = (r.off + n) % len(r.line)
	return n, nil
}

func BenchmarkWriteTextChunk(b *testing.B) {
	s := NewStream(strings.NewReader(""), io.Discard, Options{})
	defer s.Close()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = acp.AppendTextChunk(buf[:0], "0194d50a-8990-7000-8000-000000000000", "agent_message_chunk", "m-1", "Now the test passes, ")
		if err := s.WriteFrame(context.Background(), buf); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}
