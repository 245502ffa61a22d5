package jsonl_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// writerEnv makes the test binary a process that writes a log for ever.
const writerEnv = "ACP_AGENT_TEST_JSONL_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForEver opens log "a" and appends turns. It prints the seq that the log
// begins with, and each seq that a Sync has acknowledged.
func writeForEver(dir string) error {
	s, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return err
	}
	l, st, err := s.Open(context.Background(), "a", nil)
	if err != nil {
		return err
	}
	fmt.Println(st.Seq)
	for n := st.Turns + 1; ; n++ {
		for i, d := range turn(n, strings.Repeat("what was said ", 1+n%50)) {
			evs, err := l.Append(d)
			if err != nil {
				return err
			}
			if i%2 == 0 {
				if err := l.Flush(); err != nil {
					return err
				}
				continue
			}
			if err := l.Sync(); err != nil {
				return err
			}
			fmt.Println(evs[0].Seq)
		}
	}
}

// writer is a process that writes.
type writer struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   *bufio.Reader
	acked uint64
}

func startWriter(t *testing.T, dir string) *writer {
	t.Helper()
	w := &writer{t: t, cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	check(t, err)
	w.out = bufio.NewReader(out)
	check(t, w.cmd.Start())
	t.Cleanup(w.kill)
	w.ack()
	return w
}

// ack waits for the next acknowledgement.
func (w *writer) ack() bool {
	line, err := w.out.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return false
	}
	check(w.t, err)
	n, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	check(w.t, err)
	w.acked = n
	return true
}

// kill ends the process with SIGKILL and takes the acknowledgements that were on
// their way. A second kill does nothing.
func (w *writer) kill() {
	if w.cmd.ProcessState != nil {
		return
	}
	check(w.t, w.cmd.Process.Kill())
	for w.ack() {
	}
	_ = w.cmd.Wait() // it was killed: that is the error
}

// TestKill9 kills a writer a hundred times. Each time all that it acknowledged is
// there, the lock is free, and the next writer goes on.
func TestKill9(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 10
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newStore(t)
	check(t, create(t, s, "a").Close())
	for i := range times {
		w := startWriter(t, s.Dir())
		for range r.IntN(12) {
			w.ack()
		}
		if i%10 == 0 {
			if _, _, err := s.Open(t.Context(), "a", nil); !errors.Is(err, session.ErrLocked) {
				t.Fatalf("kill %d: the log is open in another process, and Open says %v", i, err)
			}
		}
		w.kill()
		got := must[*jsonl.Reading](t)(s.Read(t.Context(), "a", nil))
		if got.State.Seq < w.acked {
			t.Fatalf("kill %d: %d events of %d acknowledged", i, got.State.Seq, w.acked)
		}
	}
	l, st, events := load(t, s, "a")
	check(t, l.Close())
	if p := session.Verify(st.Header, events); len(p) > 0 {
		t.Errorf("after %d kills: %v", times, p)
	}
	if st.Seq < uint64(times) {
		t.Errorf("only %d events", st.Seq)
	}
}

// TestTwoProcesses: the second is refused at once, whatever it wants of the log;
// when the first is killed nothing of its lock is left (N3, N8).
func TestTwoProcesses(t *testing.T) {
	s := newStore(t)
	check(t, create(t, s, "a").Close())
	w := startWriter(t, s.Dir())
	if _, _, err := s.Open(t.Context(), "a", nil); !errors.Is(err, session.ErrLocked) {
		t.Errorf("Open = %v, want ErrLocked", err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, session.ErrLocked) {
		t.Errorf("Delete = %v, want ErrLocked", err)
	}
	if _, err := s.Create(t.Context(), header("a")); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create = %v, want ErrExist", err)
	}
	for range 3 {
		w.ack()
		// Reading beside the writer sees a whole prefix.
		got, err := s.Read(t.Context(), "a", nil)
		if err != nil || got.State.Seq < w.acked {
			t.Fatalf("Read beside the writer: %v, %v", got, err)
		}
		infos := must[[]session.Info](t)(s.List(t.Context()))
		if len(infos) != 1 || infos[0].Err != nil {
			t.Fatalf("List beside the writer: %+v", infos)
		}
	}
	second := exec.Command(os.Args[0])
	second.Env = append(os.Environ(), writerEnv+"="+s.Dir())
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("a second process: %v, %s", err, out)
	}
	stopped(t, w.cmd.Process, func() {
		if _, _, err := s.Open(t.Context(), "a", nil); !errors.Is(err, session.ErrLocked) {
			t.Errorf("Open while the holder is stopped = %v, want ErrLocked", err)
		}
	})
	w.kill()
	l, st, _ := load(t, s, "a")
	if st.Seq < w.acked || st.Turn != nil {
		t.Errorf("%d events, acknowledged %d, open turn %v", st.Seq, w.acked, st.Turn)
	}
	check(t, l.Close())
	check(t, s.Delete(t.Context(), "a"))
}
