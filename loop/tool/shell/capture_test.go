package shell

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever the sizes of the writes, the head and the tail are those of all that
// was written.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	for _, size := range []int{0, 1, streamLimit - 1, streamLimit, streamLimit + 1, streamLimit + 100, 2*streamLimit - 1, 5*streamLimit + 7} {
		for seed := range uint64(20) {
			rnd := rand.New(rand.NewPCG(seed, uint64(size)))
			all := make([]byte, size)
			for i := range all {
				all[i] = "abcdefghijklmnopqrstuvwxyz\n"[rnd.IntN(27)]
			}
			var c capture
			for rest := all; len(rest) > 0; {
				n := min(len(rest), 1+rnd.IntN([]int{10, 1000, 40_000, 200_000}[seed%4]))
				if n < 10 && len(rest) > 1000 {
					n = 997
				}
				c.Write(rest[:n])
				rest = rest[n:]
			}
			got := c.text()
			if size <= streamLimit {
				if got != string(all) {
					t.Fatalf("size %d, seed %d: changed", size, seed)
				}
				continue
			}
			const half = streamLimit / 2
			note := fmt.Sprintf("[%d bytes left out here]\n", size-streamLimit)
			if want := line(string(all[:half])) + note + string(all[size-half:]); got != want {
				t.Fatalf("size %d, seed %d: head or tail is wrong", size, seed)
			}
		}
	}
}

func TestCaptureCutsOnARune(t *testing.T) {
	var c capture
	c.Write(bytes.Repeat([]byte("x€"), 100_000))
	got := c.text()
	if strings.ContainsRune(got, utf8.RuneError) {
		t.Error("a rune was cut")
	}
}

func TestCaptureShowsWholeRunes(t *testing.T) {
	const text = "a€b\U0001F600c\xff\xe2\x82d\xe2"
	for size := 1; size <= len(text); size++ {
		var shown []string
		c := capture{show: func(s string) { shown = append(shown, s) }}
		for i := 0; i < len(text); i += size {
			c.Write([]byte(text[i:min(i+size, len(text))]))
		}
		c.close()
		// Adjacent broken bytes are one U+FFFD or several, as they came.
		got := strings.Join(shown, "")
		for strings.Contains(got, "\uFFFD\uFFFD") {
			got = strings.ReplaceAll(got, "\uFFFD\uFFFD", "\uFFFD")
		}
		if want := "a€b\U0001F600c\uFFFDd\uFFFD"; got != want {
			t.Errorf("chunks of %d: %q", size, got)
		}
	}
}

func TestCaptureWithoutAFile(t *testing.T) {
	c := capture{spill: func() (*os.File, error) { return nil, errors.New("disk full") }}
	c.Write(make([]byte, streamLimit+1))
	if got := c.text(); !strings.Contains(got, "[1 bytes left out here; it could not be saved: disk full]") {
		t.Errorf("got %q", got[streamLimit/2-1:streamLimit/2+90])
	}
}

func TestCaptureTake(t *testing.T) {
	var c capture
	c.Write([]byte("one"))
	if got := c.take(); got != "one" {
		t.Errorf("got %q", got)
	}
	c.Write(bytes.Repeat([]byte("y"), streamLimit+5))
	c.take()
	if got := c.take(); got != "" {
		t.Errorf("got %q", got)
	}
	c.Write([]byte("two"))
	if got := c.take(); got != "two" {
		t.Errorf("got %q", got)
	}
}

// A rune that is half written when a job is asked for its output comes whole with the next.
func TestCaptureTakeInsideARune(t *testing.T) {
	for _, before := range []int{0, streamLimit - 2, streamLimit - 1, streamLimit, 2 * streamLimit, 2*streamLimit + 1} {
		var c capture
		c.Write(bytes.Repeat([]byte("y"), before))
		c.Write([]byte("\xe2\x82"))
		first := c.take()
		c.Write([]byte("\xac\xe2"))
		if strings.Contains(first, "\ufffd") || strings.Contains(first, "left out") != (before > streamLimit) || c.take() != "€" {
			t.Errorf("a rune that is cut after %d bytes is broken", before)
		}
		if c.close(); c.text() != "\ufffd" {
			t.Errorf("half a rune at the end is lost after %d bytes", before)
		}
	}
}
