package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// peer is a PromptWriter with room for some bytes. What is written in the other way
// waits for open.
type peer struct {
	mu     sync.Mutex
	room   int
	refuse error
	got    bytes.Buffer
	how    []string
	open   chan struct{}
}

func (p *peer) WritePrompt(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse != nil {
		return 0, p.refuse
	}
	n := min(len(b), p.room)
	p.room -= n
	p.got.Write(b[:n])
	p.how = append(p.how, fmt.Sprintf("prompt %d", n))
	return n, nil
}

func (p *peer) Write(b []byte) (int, error) {
	<-p.open
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got.Write(b)
	p.how = append(p.how, fmt.Sprintf("write %d", len(b)))
	return len(b), nil
}

func (p *peer) want(t *testing.T, how ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.how, how) {
		t.Errorf("written by %q, want %q", p.how, how)
	}
}

// A message after a silence is out when WriteFrame returns. One that follows at
// once, and what finds no room, is the writer's, and all stay in order.
func TestPromptWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{room: 12, open: make(chan struct{})}
		s := NewStream(strings.NewReader(""), p, Options{})
		send := func(frame string) {
			t.Helper()
			if err := s.WriteFrame(t.Context(), []byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		send("[1]\n")
		p.want(t, "prompt 4")
		send("[2]\n") // at once
		synctest.Wait()
		p.want(t, "prompt 4")
		<-time.After(silence)
		send("[3]\n") // after a silence, but what came before is still queued
		synctest.Wait()
		p.want(t, "prompt 4")
		close(p.open)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p.want(t, "prompt 4", "write 4", "write 4")
		<-time.After(silence)
		if err := s.WriteObject([]string{"more than there is room for"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.want(t, "prompt 4", "write 4", "write 4", "prompt 8", "write 24")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got, want := p.got.String(), "[1]\n[2]\n[3]\n[\"more than there is room for\"]\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Where the way is not open, the writer writes.
func TestPromptWritesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{refuse: errors.ErrUnsupported, open: make(chan struct{})}
		close(p.open)
		s := NewStream(strings.NewReader(""), p, Options{})
		for range 2 {
			<-time.After(silence)
			if err := s.WriteFrame(t.Context(), []byte("[1]\n")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		p.want(t, "write 4", "write 4")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
