//go:build unix

package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/session/jsonl"
)

// Each signal that ends the process ends it in order: the running turn is
// closed in the log, and the exit is not the signal's.
func TestSignalsCloseTheRunningTurn(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skipf("%v is ignored where this test was started (nohup), and so by the agent on purpose", sig)
			}
			asked := make(chan struct{}, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not noticed
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			defer srv.Close()
			state := t.TempDir()
			c, cmd := agentProcess(t, []string{"DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + srv.URL}, "--model", "deepseek/x", "--no-hooks", "--state-dir", state)
			id := newSession(t, c)
			c.Go(acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("hang")}})
			<-asked
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the process ended with %v, want exit 0", err)
			}
			_ = c.Problems() // that the prompt was not answered is no problem here
			store, err := jsonl.Open(filepath.Join(state, "sessions"), jsonl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := store.Read(t.Context(), id, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.State.Turns != 1 || got.State.Turn != nil {
				t.Errorf("the log has %d turns, open %+v", got.State.Turns, got.State.Turn)
			}
		})
	}
}

// A command that waits where no context reaches, here for a reader of its output, is
// ended by a later signal.
func TestLaterSignalEndsWhatHangs(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	home := t.TempDir()
	many := strings.TrimSuffix(strings.Repeat(`{"type":"command","command":"true"},`, 5000), ",")
	file := filepath.Join(home, "settings.json")
	if err := os.WriteFile(file, []byte(`{"hooks":{"Stop":[{"hooks":[`+many+`]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("acp-agent", "hooks", "list", "--claude-hooks", file)
	cmd.Stdout, cmd.Stderr = w, t.Output()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil { // it writes, and will soon wait
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }() // received below
	for {
		// It may have gone meanwhile.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-gone:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Errorf("ended with %v, want SIGTERM's end", err)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Under nohup a hangup means nothing.
func TestHangupStaysIgnored(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP; exec acp-agent --no-hooks --model deepseek/x`)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DEEPSEEK_API_KEY=k"}
	c := talkTo(t, cmd)
	newSession(t, c)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), acp.MethodSessionList, &acp.ListSessionsRequest{}, nil); err != nil {
		t.Error(err)
	}
	c.Hangup()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func newSession(t *testing.T, c *acptest.Client) string {
	t.Helper()
	if err := c.Call(t.Context(), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	var made acp.NewSessionResponse
	if err := c.Call(t.Context(), acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: t.TempDir()}, &made); err != nil {
		t.Fatal(err)
	}
	return made.SessionID
}
