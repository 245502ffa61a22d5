package wiretest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Read decodes a body.
func (w *Wire) Read(r io.Reader) Result { return Collect(w.Decode(r)) }

// Means reads each stream whole, byte by byte and in two parts split at each byte:
// what is heard must not depend on how the network cuts.
func (w *Wire) Means(t *testing.T) {
	for _, s := range w.Streams {
		t.Run(s.Name, func(t *testing.T) {
			if got := w.Read(strings.NewReader(s.Body)).String(); got != s.Want {
				t.Fatalf("got\n%swant\n%s", got, s.Want)
			}
			if got := w.Read(iotest.OneByteReader(strings.NewReader(s.Body))).String(); got != s.Want {
				t.Errorf("one byte at a time: got\n%swant\n%s", got, s.Want)
			}
			for i := range len(s.Body) {
				if got := w.Read(io.MultiReader(strings.NewReader(s.Body[:i]), strings.NewReader(s.Body[i:]))).String(); got != s.Want {
					t.Fatalf("split at %d of %d: got\n%swant\n%s", i, len(s.Body), got, s.Want)
				}
			}
		})
	}
}

// Cut ends a body at each byte. Before whole bytes the answer is not there and
// another attempt may be made; from then on it is. What came is the beginning of
// what would have come, but for what seals reasoning, which is whole or missing.
func (w *Wire) Cut(t *testing.T, body string, whole int) {
	t.Helper()
	full := w.Read(strings.NewReader(body)).Blocks()
	for i := range len(body) {
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			r := w.Read(io.MultiReader(strings.NewReader(body[:i]), iotest.ErrReader(end)))
			var e *model.Error
			if i < whole && (!errors.As(r.Err, &e) || e.Kind != model.KindStreamClosed || !e.Retryable) || i >= whole && r.Err != nil {
				t.Fatalf("cut at %d (%v), whole from %d on: %s", i, end, whole, r)
			}
			got := r.Blocks()
			if len(got) > len(full) || i >= whole && len(got) != len(full) {
				t.Fatalf("cut at %d: %s", i, r)
			}
			for k, b := range got {
				switch f := full[k]; {
				case b.Type != f.Type, !strings.HasPrefix(f.Text, b.Text), !strings.HasPrefix(f.Arguments, b.Arguments),
					b.ID != "" && b.ID != f.ID, b.Signature != "" && b.Signature != f.Signature, b.Redacted != "" && b.Redacted != f.Redacted,
					i >= whole && (b.Text != f.Text || b.Arguments != f.Arguments || b.Signature != f.Signature || b.Redacted != f.Redacted):
					t.Fatalf("cut at %d: block %d is %+v of %+v", i, k, b, f)
				}
			}
		}
	}
}

// Pieces are the arguments of a long call, some bytes a piece, and the whole.
func Pieces() (pieces []string, whole string) {
	whole = `{"content":"` + strings.Repeat("0123456789", 200) + `"}`
	for i := 0; i < len(whole); i += 5 {
		pieces = append(pieces, Quote(whole[i:min(i+5, len(whole))]))
	}
	return pieces, whole
}

// Quote makes a JSON string.
func Quote(s string) string { return string(session.AppendString(nil, s)) }

// FuzzDecoder holds that any body ends in exactly one finish or error, that blocks
// open before they are spoken of, and that the network's cuts do not matter.
func (w *Wire) FuzzDecoder(f *testing.F) {
	for _, s := range w.Streams {
		f.Add([]byte(s.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := w.Read(bytes.NewReader(body))
		open := map[int]session.BlockType{}
		finishes := 0
		for i, c := range r.Chunks {
			switch c.Type {
			case session.ChunkBlockStart:
				if _, used := open[c.Index]; used {
					t.Fatalf("block %d opens twice", c.Index)
				}
				open[c.Index] = c.BlockType
			case session.ChunkText, session.ChunkReasoning, session.ChunkToolCall, session.ChunkBlockEnd:
				if _, ok := open[c.Index]; !ok {
					t.Fatalf("chunk %d speaks of block %d, which is not open", i, c.Index)
				}
			case session.ChunkFinish:
				finishes++
				if i != len(r.Chunks)-1 {
					t.Fatal("the finish is not the last chunk")
				}
			}
		}
		if (finishes == 1) == (r.Err != nil) || finishes > 1 {
			t.Fatalf("%d finishes and error %v", finishes, r.Err)
		}
		if again := w.Read(iotest.OneByteReader(bytes.NewReader(body))); again.String() != r.String() {
			t.Fatalf("whole:\n%s\nbyte by byte:\n%s", r, again)
		}
	})
}

// Deltas are how many a body for BenchmarkDecode has.
const Deltas = 2000

// BenchmarkDecode is the wire's decoding, events and JSON, up to the chunks.
func (w *Wire) BenchmarkDecode(b *testing.B, body []byte) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, err := range w.Decode(bytes.NewReader(body)) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*Deltas), "ns/delta")
	if n < b.N*Deltas {
		b.Fatal("chunks are missing")
	}
}

// Allocations holds that decoding a delta allocates its text and nothing else.
func (w *Wire) Allocations(t *testing.T, body []byte) {
	n := testing.AllocsPerRun(5, func() {
		for _, err := range w.Decode(bytes.NewReader(body)) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > Deltas+100 {
		t.Errorf("%d deltas take %.0f allocations", Deltas, n)
	}
}

// SDKStream is a stream of the provider's own client.
type SDKStream interface {
	Next() bool
	Err() error
}

// BenchmarkDecodeSDK is an SDK's decoding of the same bytes, for comparison.
func BenchmarkDecodeSDK(b *testing.B, body []byte, open func(*http.Response) SDKStream) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		s := open(&http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body))})
		for s.Next() {
		}
		if err := s.Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*Deltas), "ns/delta")
}
