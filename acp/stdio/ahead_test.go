package stdio

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"acp-agent/acp"
)

// numbered is an endless input of numbered lines of one length.
type numbered struct {
	size int
	n    int
	rest string
	read atomic.Int64
}

func (r *numbered) Read(b []byte) (int, error) {
	if r.rest == "" {
		r.n++
		head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"`, r.n)
		r.rest = head + strings.Repeat("x", max(0, r.size-len(head))) + "\"}}\n"
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	r.read.Add(int64(n))
	return n, nil
}

// The reading goroutine runs ahead of its consumer, in bounds, and in order.
func TestReadAheadIsBounded(t *testing.T) {
	for _, size := range []int{100, 30 << 10, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			in := &numbered{size: size}
			s := NewStream(in, io.Discard, Options{})
			defer s.Close()
			for want := 1; want <= 3*linesAhead; want++ {
				var m acp.Message
				if err := s.ReadObject(&m); err != nil || string(m.ID) != fmt.Sprint(want) {
					t.Fatalf("message %d is %s, %v", want, m.ID, err)
				}
				synctest.Wait()
				ahead := in.read.Load() - int64(want*size)
				limit := int64(min(readAhead, (linesAhead+2)*(size+50)) + 2*size + 200<<10)
				if ahead > limit {
					t.Fatalf("after message %d of %d bytes: %d bytes ahead, at most %d are wanted", want, size, ahead, limit)
				}
			}
		})
	}
}
