package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"acp-agent/session"
)

// TestSnapshotRecord records a scenario from each provider's wire and replays it
// without the provider: what came over the wire is in the log, delta by delta.
func TestSnapshotRecord(t *testing.T) {
	for _, ref := range wireModels {
		t.Run(strings.ReplaceAll(ref, "/", "-"), func(t *testing.T) {
			f := newFakeModels(t)
			dir := filepath.Join(t.TempDir(), "look-and-say")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "input.json"), `{"version":1,"description":"two turns, with tools","unknownTool":true,"steps":[{"op":"initialize"},{"op":"newSession"},`+
				`{"op":"prompt","text":"work one","expectStopReason":"end_turn"},{"op":"prompt","text":"say two","expectStopReason":"end_turn"}]}`)
			toml := filepath.Join(t.TempDir(), "config.toml")
			write(t, toml, fmt.Sprintf("[providers.gpt]\nbase_url = %q\napi_key_env = \"GPT_API_KEY\"\nwire = \"responses\"\nmodels = [\"gpt-5.5\"]\n", f.url+"/gpt/v1"))
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ACP_AGENT_CONFIG=" + toml, "GPT_API_KEY=sk-fake-0123456789"}
			for _, name := range []string{"deepseek", "openai", "anthropic"} {
				up := strings.ToUpper(name)
				env = append(env, up+"_API_KEY=sk-fake-0123456789", up+"_BASE_URL="+f.url+"/"+name)
			}
			run := func(env []string, args ...string) {
				t.Helper()
				cmd := exec.Command("acp-agent", args...)
				cmd.Env = env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("acp-agent %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			run(env, "snapshot", "record", "--model", ref, dir)
			asked := len(f.take())
			if asked != 3 {
				t.Errorf("the provider was asked %d times, want 3", asked)
			}
			log, err := os.ReadFile(filepath.Join(dir, "session.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			got := recorded(t, log)
			if len(got) != 3 {
				t.Fatalf("%d answers are recorded", len(got))
			}
			// The answer between quotes what the agent says of a tool that it has not.
			for i, prompt := range map[int]string{0: "work one", 2: "say two"} {
				want := pieces(answerTo([]heard{{role: "user", text: prompt}}).text)
				if strings.Join(got[i], "|") != strings.Join(want, "|") {
					t.Errorf("answer %d was recorded as %q, sent as %q", i, got[i], want)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				if b, err := os.ReadFile(name); err == nil && (strings.Contains(string(b), "sk-fake") || strings.Contains(string(b), f.url)) {
					t.Errorf("%s holds the key or the address", filepath.Base(name))
				}
			}
			// No key, no address: only the recording can answer.
			run([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, "snapshot", "run", dir)
			if n := len(f.take()); n != 0 {
				t.Errorf("the replay asked the provider %d times", n)
			}
			for _, why := range f.refused {
				t.Errorf("a strict provider refused: %s", why)
			}
		})
	}
}

// TestSnapshotRecordPaths: models name files by absolute paths, cut into deltas
// anywhere. The recording reads the same file in a directory of its own. What a
// replay cannot repeat is not taken for a recording.
func TestSnapshotRecordPaths(t *testing.T) {
	work := regexp.MustCompile(`/[^" \\]*acp-snapshot-[0-9a-f]+/work`)
	for call, want := range map[string]string{
		`read {"file_path":"CWD/a.txt"}`:                              `\"{{cwd}}/a`,
		`bash {"command":"date +%N; echo $RANDOM","description":"x"}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			delta, finish := `{"content":"read"}`, "stop"
			if !strings.Contains(string(body), `"role":"tool"`) {
				name, args, _ := strings.Cut(strings.ReplaceAll(call, "CWD", work.FindString(string(body))), " ")
				fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":%q,"arguments":""}}]}}]}`+"\n\n", name)
				for ; len(args) > 7; args = args[7:] {
					fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}}]}`+"\n\n", args[:7])
				}
				delta, finish = fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, args), "tool_calls"
			}
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", delta, finish)
		}))
		defer server.Close()
		dir := filepath.Join(t.TempDir(), "paths")
		if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "workspace", "a.txt"), "alpha\n")
		write(t, filepath.Join(dir, "input.json"), `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"setMode","modeId":"bypassPermissions"},{"op":"prompt","text":"go"}]}`)
		cmd := exec.Command("acp-agent", "snapshot", "record", "--model", "deepseek/deepseek-v4-flash", dir)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DEEPSEEK_API_KEY=sk-fake-0123456789", "DEEPSEEK_BASE_URL=" + server.URL}
		out, err := cmd.CombinedOutput()
		log, _ := os.ReadFile(filepath.Join(dir, "session.jsonl")) // there is none where nothing was written
		switch {
		case want == "" && (err == nil || len(log) > 0 || !strings.Contains(string(out), "tool/result") && !strings.Contains(string(out), "nothing was written")):
			t.Errorf("%s: %v: %s", call, err, out)
		case want != "" && (err != nil || !strings.Contains(string(log), want) || !strings.Contains(string(log), "1: alpha") || strings.Contains(string(log), "acp-snapshot-")):
			t.Errorf("%s: %v: %s\n%s", call, err, out, log)
		}
	}
}

// recorded are the text deltas of each answer in a recorded log.
func recorded(t *testing.T, log []byte) [][]string {
	t.Helper()
	var out [][]string
	for line := range strings.Lines(string(log)) {
		var ev struct {
			Type string
			Data struct{ Chunk session.Chunk }
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil && strings.Contains(line, "chunk") {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case ev.Type == "request/sent":
			out = append(out, nil)
		case ev.Data.Chunk.Type == session.ChunkPackedText:
			out[len(out)-1] = append(out[len(out)-1], ev.Data.Chunk.Texts...)
		case ev.Data.Chunk.Type == session.ChunkText:
			out[len(out)-1] = append(out[len(out)-1], ev.Data.Chunk.Text)
		}
	}
	return out
}
