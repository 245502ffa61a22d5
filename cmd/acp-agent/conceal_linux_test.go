package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
)

// The environment that the kernel shows of the agent has no provider's key by the
// time the first child can look; the agent itself still has it, and the rest of the
// environment stays.
func TestKeysAreConcealed(t *testing.T) {
	m := newModelServer(t, "ok")
	c, cmd := agentProcess(t, []string{
		"BEFORE=stays", "OPENAI_API_KEY=" + testKey, "AFTER=stays too", "OPENAI_BASE_URL=" + m.URL + "/v1", "ACP_AGENT_MODEL=openai/any",
	})
	shown := func() []byte {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	if !bytes.Contains(shown(), []byte(testKey)) {
		t.Skip("this kernel does not show a process's environment")
	}
	if _, stop := converseOnce(t, c, t.TempDir(), "hello"); stop != "end_turn" {
		t.Fatalf("stop reason %q", stop)
	}
	env := shown()
	if bytes.Contains(env, []byte(testKey)) {
		t.Error("/proc shows the provider's key")
	}
	for _, want := range []string{"BEFORE=stays\x00", "OPENAI_API_KEY=\x00", "AFTER=stays too\x00"} {
		if !bytes.Contains(env, []byte(want)) {
			t.Errorf("%q is not in %q", want, env)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.keys, []string{"Bearer " + testKey}) {
		t.Errorf("the model was sent the keys %q", m.keys)
	}
}
