package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// runDoctor runs the command in a clean home with an environment.
func runDoctor(t *testing.T, env ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("acp-agent", "doctor")
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	b, err := cmd.Output()
	return string(b), err == nil
}

func wantLine(t *testing.T, out, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^` + pattern).MatchString(out) {
		t.Errorf("no line %q in:\n%s", pattern, out)
	}
}

// TestDoctorListsModels asks three endpoints with three answers, one of them of
// the config file with a header of its own.
func TestDoctorListsModels(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/deepseek/models" && r.Header.Get("Authorization") == "Bearer sk-deep-0123456789":
			io.WriteString(w, `{"data":[{"id":"deepseek-v4-flash"},{"id":"deepseek-v4-pro"}]}`)
		case r.URL.Path == "/claude/v1/models" && r.Header.Get("X-Api-Key") != "":
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
		case r.URL.Path == "/local/models" && r.Header.Get("X-Team") == "tests" && r.Header.Get("Authorization") == "":
			var ids []string
			for i := range 14 {
				ids = append(ids, fmt.Sprintf(`{"id":"m%d"}`, i))
			}
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(ids, ","))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "config.toml")
	toml := fmt.Sprintf("[providers.local]\nbase_url = %q\nheaders = {X-Team = \"tests\"}\n[providers.none]\nbase_url = %q\n", s.URL+"/local", s.URL+"/none")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"ACP_AGENT_CONFIG=" + file, "DEEPSEEK_API_KEY=sk-deep-0123456789", "DEEPSEEK_BASE_URL=" + s.URL + "/deepseek",
		"ANTHROPIC_API_KEY=sk-ant-0123456789", "ANTHROPIC_BASE_URL=" + s.URL + "/claude",
	}
	out, ok := runDoctor(t, env...)
	if !ok {
		t.Error("it failed")
	}
	wantLine(t, out, `ok    models +deepseek serves 2: deepseek-v4-flash, deepseek-v4-pro`)
	wantLine(t, out, `note  models +anthropic does not say .*refused the API key`)
	wantLine(t, out, `ok    models +local serves 14: m0, .*, m11 and 2 more`)
	wantLine(t, out, `note  models +none does not say .*404`)
	if strings.Contains(out, "sk-") {
		t.Errorf("a key is shown:\n%s", out)
	}
	// The model in use is not listed; then its provider refuses the key.
	out, ok = runDoctor(t, append(env, "ACP_AGENT_MODEL=deepseek/deepseek-old")...)
	if !ok {
		t.Error("it failed")
	}
	wantLine(t, out, `note  models +deepseek does not list the model in use, deepseek-old`)
	out, ok = runDoctor(t, append(env, "ACP_AGENT_MODEL=anthropic/claude-sonnet-5-5")...)
	if ok {
		t.Error("a refused key of the provider in use is no fault")
	}
	wantLine(t, out, `miss  models +anthropic refused the API key .*ANTHROPIC_API_KEY`)
}

// TestProxies holds that model requests go through the proxy of the usual
// variables, and past it where NO_PROXY says so. The hosts do not exist.
func TestProxies(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Host+r.URL.Path)
		switch {
		case r.Method == http.MethodConnect:
			http.Error(w, "no tunnels today", http.StatusForbidden)
		case strings.HasSuffix(r.URL.Path, "/models"):
			io.WriteString(w, `{"data":[{"id":"deepseek-v4-flash"}]}`)
		default:
			io.WriteString(w, writeChat(true)(reply{text: "through the proxy"}))
		}
	}))
	defer s.Close()
	take := func() string {
		mu.Lock()
		defer mu.Unlock()
		out := strings.Join(seen, "\n")
		seen = nil
		return out
	}
	exe := func(env ...string) (string, error) {
		cmd := exec.Command("acp-agent", "exec", "--model", "deepseek/deepseek-v4-flash", "say hi")
		cmd.Dir = t.TempDir()
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DEEPSEEK_API_KEY=sk-deep-0123456789"}, env...)
		b, err := cmd.CombinedOutput()
		return string(b), err
	}
	if out, err := exe("HTTP_PROXY="+s.URL, "DEEPSEEK_BASE_URL=http://models.invalid/v1"); err != nil || out != "through the proxy\n" {
		t.Errorf("%v: %s", err, out)
	}
	if got := take(); got != "POST models.invalid/v1/chat/completions" {
		t.Errorf("the proxy saw %q", got)
	}
	out, _ := runDoctor(t, "HTTP_PROXY="+s.URL, "DEEPSEEK_BASE_URL=http://models.invalid/v1", "DEEPSEEK_API_KEY=sk-deep-0123456789")
	wantLine(t, out, `ok    models +deepseek serves 1`)
	take()
	out, _ = runDoctor(t, "HTTPS_PROXY="+s.URL, "DEEPSEEK_BASE_URL=https://models.invalid/v1", "DEEPSEEK_API_KEY=sk-deep-0123456789")
	wantLine(t, out, `note  models +deepseek does not say .*Forbidden.*proxy`)
	if got := take(); got != "CONNECT models.invalid:443" {
		t.Errorf("the proxy saw %q", got)
	}
	out, _ = runDoctor(t, "HTTP_PROXY="+s.URL, "NO_PROXY=models.invalid", "DEEPSEEK_BASE_URL=http://models.invalid/v1", "DEEPSEEK_API_KEY=sk-deep-0123456789")
	wantLine(t, out, `note  models +deepseek (does not|did not) say`)
	if got := take(); got != "" {
		t.Errorf("past NO_PROXY the proxy saw %q", got)
	}
}
