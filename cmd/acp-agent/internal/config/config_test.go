package config

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testEnv is an environment with a home of its own.
func testEnv(t *testing.T, list ...string) Env {
	t.Helper()
	home := t.TempDir()
	return Env{list: append([]string{"HOME=" + home, "PATH=/bin"}, list...), goos: "linux"}
}

func mustLoad(t *testing.T, f Flags, env Env) *Config {
	t.Helper()
	c, err := Load(f, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// writeConfig puts a config file at its default place.
func writeConfig(t *testing.T, env Env, text string) {
	t.Helper()
	dir := filepath.Join(env.Home(), ".config", "acp-agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaults(t *testing.T) {
	env := testEnv(t)
	c := mustLoad(t, Flags{}, env)
	if want := filepath.Join(env.Home(), ".local", "state", "acp-agent"); c.StateDir != want {
		t.Errorf("StateDir = %s, want %s", c.StateDir, want)
	}
	if want := filepath.Join(env.Home(), ".config", "acp-agent", "config.toml"); c.File != want {
		t.Errorf("File = %s, want %s", c.File, want)
	}
	if _, err := os.Stat(c.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Error("Load made the state directory")
	}
	want := Limits{MaxSteps: 200, StopContinuations: 8, Retries: 5, IdleTimeout: 5 * time.Minute, ToolTimeout: 2 * time.Minute}
	if diff := cmp.Diff(want, c.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if !c.Hooks.Enabled || c.Permissions.Mode != "default" || c.LogLevel != slog.LevelWarn || !c.Client.Terminal || !c.Client.Files {
		t.Errorf("defaults: %+v", c)
	}
}

// TestPrecedence: a flag beats a variable, a variable the file, the file the
// default.
func TestPrecedence(t *testing.T) {
	env := testEnv(t)
	writeConfig(t, env, "model = \"deepseek/file\"\nlog_level = \"debug\"\nstate_dir = \"/file\"\n[permissions]\nmode = \"plan\"\n")
	for _, tc := range []struct {
		name  string
		flags Flags
		env   []string
		model string
		level slog.Level
		state string
		mode  string
	}{
		{"file", Flags{}, nil, "deepseek/file", slog.LevelDebug, "/file", "plan"},
		{
			"variable",
			Flags{},
			[]string{"ACP_AGENT_MODEL=openai/variable", "ACP_AGENT_LOG_LEVEL=info", "ACP_AGENT_STATE_DIR=/variable", "ACP_AGENT_MODE=default"},
			"openai/variable", slog.LevelInfo, "/variable", "default",
		},
		{
			"flag",
			Flags{Model: "replay:/flag", LogLevel: "error", StateDir: "/flag", Mode: "acceptEdits"},
			[]string{"ACP_AGENT_MODEL=openai/variable", "ACP_AGENT_LOG_LEVEL=info", "ACP_AGENT_STATE_DIR=/variable", "ACP_AGENT_MODE=default"},
			"replay:/flag", slog.LevelError, "/flag", "acceptEdits",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("absolute paths look different there")
			}
			c := mustLoad(t, tc.flags, Env{list: append(slices.Clone(env.list), tc.env...), goos: env.goos})
			if c.Model.String() != tc.model || c.LogLevel != tc.level || c.StateDir != tc.state || c.Permissions.Mode != tc.mode {
				t.Errorf("got %s %s %s %s", c.Model, c.LogLevel, c.StateDir, c.Permissions.Mode)
			}
		})
	}
}

func TestPlacesByOS(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("absolute paths look different there")
	}
	for _, tc := range []struct {
		name         string
		env          Env
		config, stat string
	}{
		{"linux", Env{goos: "linux", list: []string{"HOME=/h"}}, "/h/.config", "/h/.local/state"},
		{"darwin", Env{goos: "darwin", list: []string{"HOME=/h"}}, "/h/Library/Application Support", "/h/Library/Application Support"},
		{"windows", Env{goos: "windows", list: []string{"AppData=/r", "LocalAppData=/l"}}, "/r", "/l"},
		{"xdg", Env{goos: "darwin", list: []string{"HOME=/h", "XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}}, "/c", "/s"},
		{"relative xdg is ignored", Env{goos: "linux", list: []string{"HOME=/h", "XDG_CONFIG_HOME=c", "XDG_STATE_HOME=s"}}, "/h/.config", "/h/.local/state"},
		{"nothing", Env{goos: "linux"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.env.ConfigHome(); got != tc.config {
				t.Errorf("ConfigHome = %q, want %q", got, tc.config)
			}
			if got := tc.env.StateHome(); got != tc.stat {
				t.Errorf("StateHome = %q, want %q", got, tc.stat)
			}
		})
	}
}

func TestNoHome(t *testing.T) {
	c := mustLoad(t, Flags{}, Env{goos: "linux"})
	if _, err := c.EnsureStateDir(); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("EnsureStateDir without HOME: %v", err)
	}
	if err := c.StoreKey("deepseek", "k"); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("StoreKey without HOME: %v", err)
	}
}

func TestParseModel(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want ModelRef
		bad  bool
	}{
		{in: "deepseek/deepseek-v4-flash", want: ModelRef{"deepseek", "deepseek-v4-flash"}},
		{in: "router/vendor/model:free", want: ModelRef{"router", "vendor/model:free"}},
		{in: "replay:/a/b.jsonl", want: ModelRef{Replay, "/a/b.jsonl"}},
		{in: `replay:C:\a b\s.jsonl`, want: ModelRef{Replay, `C:\a b\s.jsonl`}},
		{in: "replay:", bad: true},
		{in: "gpt", bad: true},
		{in: "/x", bad: true},
		{in: "x/", bad: true},
		{in: "", bad: true},
	} {
		got, err := ParseModel(tc.in)
		if (err != nil) != tc.bad || got != tc.want {
			t.Errorf("ParseModel(%q) = %+v, %v", tc.in, got, err)
		}
		if err == nil && got.String() != tc.in {
			t.Errorf("ParseModel(%q).String() = %q", tc.in, got.String())
		}
	}
}

func TestResolveModel(t *testing.T) {
	env := testEnv(t)
	c := mustLoad(t, Flags{}, env)
	_, err := c.ResolveModel()
	var ce *Error
	if !errors.As(err, &ce) || !ce.Auth {
		t.Fatalf("without a key: %v", err)
	}
	for _, say := range []string{"DEEPSEEK_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "acp-agent login", c.CredentialsFile()} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("the error does not name %s: %v", say, err)
		}
	}
	// A key that appears later is found without a restart.
	if err := c.StoreKey("openai", "sk-stored-0123"); err != nil {
		t.Fatal(err)
	}
	if ref, err := c.ResolveModel(); err != nil || ref.Provider != "openai" {
		t.Errorf("after a login: %s, %v", ref, err)
	}
	env.list = append(env.list, "DEEPSEEK_API_KEY=sk-env-01234")
	c = mustLoad(t, Flags{}, env)
	if ref, err := c.ResolveModel(); err != nil || ref.Provider != "deepseek" {
		t.Errorf("deepseek goes first: %s, %v", ref, err)
	}
}

func TestProviders(t *testing.T) {
	env := testEnv(t, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "LOCAL_KEY=local-secret")
	writeConfig(t, env, `
[providers.local]
base_url = "http://127.0.0.1:2/v1"
models = ["small", "large"]
[providers.gate]
base_url = "https://gate.example/v1"
api_key_env = "LOCAL_KEY"
wire = "responses"
headers = { "X-Team" = "a" }
[providers.deepseek]
base_url = "http://127.0.0.1:3"
`)
	c := mustLoad(t, Flags{}, env)
	if diff := cmp.Diff([]string{"deepseek", "openai", "anthropic", "gate", "local"}, c.ProviderNames()); diff != "" {
		t.Error(diff)
	}
	for _, want := range []Provider{
		{Name: "deepseek", BaseURL: "http://127.0.0.1:3", KeyEnv: "DEEPSEEK_API_KEY", Wire: WireChat, Models: builtin[0].Models},
		{Name: "openai", BaseURL: "http://127.0.0.1:1/v1", KeyEnv: "OPENAI_API_KEY", Wire: WireChat, Models: builtin[1].Models},
		{Name: "gate", BaseURL: "https://gate.example/v1", KeyEnv: "LOCAL_KEY", Wire: WireResponses, Headers: map[string]string{"X-Team": "a"}},
		{Name: "local", BaseURL: "http://127.0.0.1:2/v1", Wire: WireChat, Models: []string{"small", "large"}},
	} {
		got, err := c.Provider(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	if key, err := c.Key("gate"); key != "local-secret" || err != nil {
		t.Errorf("Key(gate) = %q, %v", key, err)
	}
	if key, err := c.Key("local"); key != "" || err != nil {
		t.Errorf("Key(local) = %q, %v", key, err)
	}
	// A provider without a key counts for the default model.
	if ref, err := c.ResolveModel(); err != nil || ref.String() != "local/small" {
		t.Errorf("ResolveModel = %s, %v", ref, err)
	}
}

// TestEnvironForChildren: provider keys are hidden, everything else is
// inherited, and the config file may let a key through.
func TestEnvironForChildren(t *testing.T) {
	env := testEnv(t, "GH_TOKEN=gh", "DEEPSEEK_API_KEY=a", "OPENAI_API_KEY=b", "ANTHROPIC_API_KEY=c", "GATE_KEY=d", "OPENAI_BASE_URL=u", "WITH_NEWLINE=a\nb=\"c\"")
	writeConfig(t, env, `
[providers.gate]
base_url = "https://gate.example/v1"
api_key_env = "GATE_KEY"
[hooks]
env = ["OPENAI_API_KEY"]
[tools]
env = ["GATE_KEY"]
`)
	c := mustLoad(t, Flags{}, env)
	rest := []string{"HOME=" + env.Home(), "PATH=/bin", "GH_TOKEN=gh"}
	if diff := cmp.Diff(append(slices.Clone(rest), "GATE_KEY=d", "OPENAI_BASE_URL=u", "WITH_NEWLINE=a\nb=\"c\""), c.Environ()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(slices.Clone(rest), "OPENAI_API_KEY=b", "OPENAI_BASE_URL=u", "WITH_NEWLINE=a\nb=\"c\""), c.HookEnviron()); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// TestToken: ANTHROPIC_AUTH_TOKEN goes before the key, unless the config file names
// another variable; it is hidden and known as a secret like a key.
func TestToken(t *testing.T) {
	const token, key = "token-0123456789", "key-0123456789"
	env := testEnv(t, "ANTHROPIC_AUTH_TOKEN="+token, "ANTHROPIC_API_KEY="+key, "OWN=own-0123456789")
	c := mustLoad(t, Flags{}, env)
	p, err := c.Provider("anthropic")
	if err != nil || !p.Bearer || p.KeyEnv != "ANTHROPIC_AUTH_TOKEN" {
		t.Errorf("%+v, %v", p, err)
	}
	if got, err := c.Key("anthropic"); err != nil || got != token {
		t.Errorf("key %q, %v", got, err)
	}
	for _, secret := range []string{token, key} {
		if !slices.Contains(c.Secrets(), secret) || slices.ContainsFunc(c.Environ(), func(kv string) bool { return strings.HasSuffix(kv, "="+secret) }) {
			t.Errorf("%s: secrets %q, environment %q", secret, c.Secrets(), c.Environ())
		}
	}
	if ref, err := c.ResolveModel(); err != nil || ref.Provider != "anthropic" {
		t.Errorf("model %s, %v", ref, err)
	}
	writeConfig(t, env, "[providers.anthropic]\napi_key_env = \"OWN\"\n")
	c = mustLoad(t, Flags{}, env)
	if p, err := c.Provider("anthropic"); err != nil || p.Bearer || p.KeyEnv != "OWN" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestIsolated(t *testing.T) {
	env := Env{goos: "linux", list: []string{"PATH=/bin", "HOME=/h", "XDG_STATE_HOME=/s", "ACP_AGENT_MODEL=m", "CLAUDE_CONFIG_DIR=/c", "CODEX_HOME=/x", "OPENAI_API_KEY=k", "LANG=C"}}
	got := env.Isolated("/new")
	want := []string{"PATH=/bin", "LANG=C", "HOME=/new", "USERPROFILE=/new", "APPDATA=" + filepath.Join("/new", "AppData"), "LOCALAPPDATA=" + filepath.Join("/new", "LocalAppData")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWindowsNamesAreFolded(t *testing.T) {
	c := &Config{env: Env{goos: "windows", list: []string{"Path=p", "OpenAI_Api_Key=k"}}}
	if c.Getenv("PATH") != "p" || c.Getenv("OPENAI_API_KEY") != "k" {
		t.Error("variable names are not folded")
	}
	if diff := cmp.Diff([]string{"Path=p"}, c.Environ()); diff != "" {
		t.Error(diff)
	}
}

// A relative directory in the environment is made one that means the same in
// every session, whatever project that is in.
func TestHookDirsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env := testEnv(t, "CLAUDE_CONFIG_DIR=c", "CODEX_HOME=./x/")
	c := mustLoad(t, Flags{}, env)
	if c.Hooks.ClaudeDir != filepath.Join(here, "c") || c.Hooks.CodexDir != filepath.Join(here, "x") {
		t.Errorf("%q, %q", c.Hooks.ClaudeDir, c.Hooks.CodexDir)
	}
	if c := mustLoad(t, Flags{}, testEnv(t, "CLAUDE_CONFIG_DIR=~/c")); c.Hooks.ClaudeDir != filepath.Join(c.Home(), "c") {
		t.Errorf("%q", c.Hooks.ClaudeDir)
	}
}

func TestStopCap(t *testing.T) {
	for value, want := range map[string]int{"": 8, "20": 20, "0": 0, "-1": 8, "many": 8} {
		if got := mustLoad(t, Flags{}, testEnv(t, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="+value)).Limits.StopContinuations; got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
	env := testEnv(t, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=20")
	writeConfig(t, env, "[limits]\nstop_continuations = 3\n")
	if got := mustLoad(t, Flags{}, env).Limits.StopContinuations; got != 3 {
		t.Errorf("the config file says 3, not %d", got)
	}
}

func TestHookFilesAddUp(t *testing.T) {
	env := testEnv(t, "ACP_AGENT_CLAUDE_HOOKS="+strings.Join([]string{"/v1.json", "/v2.json"}, string(os.PathListSeparator)))
	writeConfig(t, env, "[hooks]\nclaude_files = [\"mine.json\", \"~/more.json\"]\n")
	c := mustLoad(t, Flags{ClaudeHooks: []string{"/f.json"}}, env)
	if runtime.GOOS == "windows" {
		t.Skip("absolute paths look different there")
	}
	want := []string{filepath.Join(c.Dir, "mine.json"), filepath.Join(env.Home(), "more.json"), "/v1.json", "/v2.json", "/f.json"}
	if diff := cmp.Diff(want, c.Hooks.ClaudeFiles); diff != "" {
		t.Error(diff)
	}
	for _, off := range []Env{{list: append(slices.Clone(env.list), "ACP_AGENT_NO_HOOKS=1"), goos: "linux"}} {
		if mustLoad(t, Flags{}, off).Hooks.Enabled {
			t.Error("ACP_AGENT_NO_HOOKS=1 left hooks on")
		}
	}
	if mustLoad(t, Flags{NoHooks: true}, env).Hooks.Enabled {
		t.Error("--no-hooks left hooks on")
	}
}

func TestRedact(t *testing.T) {
	const stored, inEnv = "sk-stored-0123456789", "sk-env-0123456789"
	c := mustLoad(t, Flags{}, testEnv(t, "DEEPSEEK_API_KEY="+inEnv, "OPENAI_API_KEY=x"))
	if err := c.StoreKey("anthropic", stored); err != nil {
		t.Fatal(err)
	}
	in := "a " + inEnv + " b " + stored + " xx"
	want := "a " + Redacted + " b " + Redacted + " xx"
	if got := c.Redact(in); got != want {
		t.Errorf("Redact = %q", got)
	}
	var buf bytes.Buffer
	w := c.RedactWriter(&buf)
	if n, err := w.Write([]byte(in)); n != len(in) || err != nil || buf.String() != want {
		t.Errorf("RedactWriter wrote %q, %d, %v", buf.String(), n, err)
	}
}

// TestKeysAsTheyCome: what a shell or a secret's file leaves around a key is not
// part of it, nor of what is redacted; a key that no header can hold is said where
// it is, not tried five times.
func TestKeysAsTheyCome(t *testing.T) {
	c := mustLoad(t, Flags{}, testEnv(t, "DEEPSEEK_API_KEY= sk-0123456789\r\n", "OPENAI_API_KEY=sk-01234\n56789", "ANTHROPIC_API_KEY= \n"))
	if key, err := c.Key("deepseek"); key != "sk-0123456789" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if got := c.Redact("a sk-0123456789 b"); got != "a "+Redacted+" b" {
		t.Errorf("Redact = %q", got)
	}
	var e *Error
	if _, err := c.Key("openai"); !errors.As(err, &e) || !e.Auth || !strings.Contains(err.Error(), "OPENAI_API_KEY has a line break") || strings.Contains(err.Error(), "sk-") {
		t.Errorf("%v", err)
	}
	if _, err := c.Key("anthropic"); !errors.As(err, &e) || !strings.Contains(err.Error(), "no API key") {
		t.Errorf("%v", err)
	}
}

func TestCredentials(t *testing.T) {
	c := mustLoad(t, Flags{}, testEnv(t))
	if err := c.StoreKey("deepseek", "one"); err != nil {
		t.Fatal(err)
	}
	if err := c.StoreKey("openai", "two"); err != nil {
		t.Fatal(err)
	}
	if err := c.StoreKey("deepseek", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Key("deepseek"); err == nil {
		t.Error("the removed key is still there")
	}
	if key, err := c.Key("openai"); key != "two" || err != nil {
		t.Errorf("Key(openai) = %q, %v", key, err)
	}
	left, err := os.ReadDir(c.Dir)
	if err != nil || len(left) != 1 {
		t.Errorf("files left beside the credentials: %v, %v", left, err)
	}
	if err := os.WriteFile(c.CredentialsFile(), []byte("not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Key("openai"); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("damaged credentials: %v", err)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	for text, say := range map[string]string{
		"[limits]\nmax_steps = 0":             "limits.max_steps",
		"[limits]\nretries = -1":              "limits.retries",
		"[limits]\nmax_tokens = 0":            "limits.max_tokens",
		"[limits]\nidle_timeout = \"-5s\"":    "time span",
		"[permissions]\nmode = \"yolo\"":      "permissions.mode",
		"effort = \"huge\"":                   "effort",
		"log_level = \"loud\"":                "log_level",
		"[providers.\"a/b\"]\nbase_url=\"x\"": "cannot have this name",
	} {
		env := testEnv(t)
		writeConfig(t, env, text)
		if _, err := Load(Flags{}, env); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	env := OSEnv()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(Flags{}, env); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAddressShowsNoSecret: what doctor prints is pasted into reports.
func TestAddressShowsNoSecret(t *testing.T) {
	for base, want := range map[string]string{
		"https://h.example:8443/v1": "https://h.example:8443/v1", "https://user:pass@h.example/v1?key=k#f": "https://h.example/v1", "user:pass@h": "no address", "://": "no address",
	} {
		if got := (&Provider{BaseURL: base}).Address(); got != want {
			t.Errorf("%s is shown as %s, want %s", base, got, want)
		}
	}
}
