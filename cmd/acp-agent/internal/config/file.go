package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// file is config.toml. Pointers tell "not set" from zero. The comments are the
// reference of the file: the JSON schema carries them.
type file struct {
	Model    string `toml:"model" json:"model,omitempty" jsonschema:"description=The model to use: PROVIDER/NAME or replay:PATH. Without it: the first model of the first provider that has a key.,example=deepseek/deepseek-v4-flash"`
	Effort   string `toml:"effort" json:"effort,omitempty" jsonschema:"description=Reasoning effort that sessions start with; the provider's own by default.,enum=off,enum=low,enum=medium,enum=high,enum=max"`
	StateDir string `toml:"state_dir" json:"state_dir,omitempty" jsonschema:"description=Where session logs and trust are kept."`
	LogLevel string `toml:"log_level" json:"log_level,omitempty" jsonschema:"description=What the debug log holds.,enum=debug,enum=info,enum=warn,enum=error,default=warn"`
	LogFile  string `toml:"log_file" json:"log_file,omitempty" jsonschema:"description=Where the debug log goes; stderr by default."`
	Trace    string `toml:"trace" json:"trace,omitempty" jsonschema:"description=File that every protocol line is written to."`

	Providers   map[string]fileProvider `toml:"providers" json:"providers,omitempty" jsonschema:"description=Further model endpoints by name and changes to the built-in ones (deepseek openai anthropic)."`
	Hooks       fileHooks               `toml:"hooks" json:"hooks,omitempty" jsonschema:"description=Hooks written for Claude Code and Codex."`
	Tools       fileTools               `toml:"tools" json:"tools,omitempty" jsonschema:"description=The agent's own tools."`
	Limits      fileLimits              `toml:"limits" json:"limits,omitempty" jsonschema:"description=Bounds of one turn."`
	Permissions filePermissions         `toml:"permissions" json:"permissions,omitempty" jsonschema:"description=What may run without a question."`
	Unstable    fileUnstable            `toml:"unstable" json:"unstable,omitempty" jsonschema:"description=Drafts of the protocol; off by default since strict clients refuse what they do not know."`
	Client      fileClient              `toml:"client" json:"client,omitempty" jsonschema:"description=Services of the editor that are used where it offers them."`
}

type fileProvider struct {
	BaseURL   string            `toml:"base_url" json:"base_url,omitempty" jsonschema:"description=Endpoint; the variable PROVIDER_BASE_URL of a built-in provider beats it.,pattern=^https?://.,example=http://127.0.0.1:11434/v1"`
	APIKeyEnv string            `toml:"api_key_env" json:"api_key_env,omitempty" jsonschema:"description=Variable that holds the key; leave it out when the endpoint needs none."`
	Headers   map[string]string `toml:"headers" json:"headers,omitempty" jsonschema:"description=Headers sent with every request."`
	Wire      Wire              `toml:"wire" json:"wire,omitempty" jsonschema:"description=Protocol: OpenAI Chat Completions or OpenAI Responses or Anthropic Messages.,enum=chat,enum=responses,enum=messages,default=chat"`
	Models    []string          `toml:"models" json:"models,omitempty" jsonschema:"description=Model names to offer to clients; the first is the default."`

	ContextWindow *int64 `toml:"context_window" json:"context_window,omitempty" jsonschema:"description=Context window of its models in tokens; by default what is known of each (128000 or 200000 of one that is not known).,minimum=1,example=32768"`
	Images        *bool  `toml:"images" json:"images,omitempty" jsonschema:"description=Whether its models are shown images; by default those that are known to take some."`
}

type fileHooks struct {
	Enabled     *bool    `toml:"enabled" json:"enabled,omitempty" jsonschema:"description=Whether any hook runs.,default=true"`
	ClaudeFiles []string `toml:"claude_files" json:"claude_files,omitempty" jsonschema:"description=Extra settings files with Claude Code hooks; they count as trusted."`
	CodexFiles  []string `toml:"codex_files" json:"codex_files,omitempty" jsonschema:"description=Extra hooks.json files of Codex; they count as trusted."`
	Env         []string `toml:"env" json:"env,omitempty" jsonschema:"description=Provider key variables that hooks may see; all others are hidden from them."`
}

type fileTools struct {
	Env []string `toml:"env" json:"env,omitempty" jsonschema:"description=Provider key variables that commands may see; all others are hidden from them."`
}

type fileLimits struct {
	MaxSteps          *int      `toml:"max_steps" json:"max_steps,omitempty" jsonschema:"description=Model requests of one turn.,minimum=1,default=200"`
	StopContinuations *int      `toml:"stop_continuations" json:"stop_continuations,omitempty" jsonschema:"description=How often in a row stop hooks may keep a turn going without a tool having run.,minimum=0,default=8"`
	Retries           *int      `toml:"retries" json:"retries,omitempty" jsonschema:"description=How often a failed model request is tried again.,minimum=0,default=5"`
	IdleTimeout       *Duration `toml:"idle_timeout" json:"idle_timeout,omitempty" jsonschema:"description=How long a model stream may be silent.,default=5m"`
	ToolTimeout       *Duration `toml:"tool_timeout" json:"tool_timeout,omitempty" jsonschema:"description=Default time limit of a shell command.,default=2m"`
	MaxTokens         *int64    `toml:"max_tokens" json:"max_tokens,omitempty" jsonschema:"description=Output limit of one answer; the provider's own by default.,minimum=1"`
}

type filePermissions struct {
	Mode     string   `toml:"mode" json:"mode,omitempty" jsonschema:"description=The mode that sessions start in.,enum=default,enum=acceptEdits,enum=plan,enum=bypassPermissions,default=default"`
	Remember string   `toml:"remember" json:"remember,omitempty" jsonschema:"description=How long an always answer holds: for the session or for all sessions of the project (kept in the state directory).,enum=session,enum=project,default=session"`
	Allow    []string `toml:"allow" json:"allow,omitempty" jsonschema:"description=Rules whose calls run without a question.,example=Bash(go test:*)"`
	Ask      []string `toml:"ask" json:"ask,omitempty" jsonschema:"description=Rules whose calls are always asked for."`
	Deny     []string `toml:"deny" json:"deny,omitempty" jsonschema:"description=Rules whose calls never run."`
}

type fileUnstable struct {
	Fork bool `toml:"fork" json:"fork,omitempty" jsonschema:"description=Serve session/fork.,default=false"`
}

type fileClient struct {
	Terminal *bool `toml:"terminal" json:"terminal,omitempty" jsonschema:"description=Run commands in the client's terminal.,default=true"`
	Files    *bool `toml:"files" json:"files,omitempty" jsonschema:"description=Read and write files through the client's buffers.,default=true"`
}

// Duration is a time span, written as "90s" or "5m". It is no integer type: a
// bare number would be taken for nanoseconds.
type Duration struct {
	span time.Duration
	// bad is what was written and is no time span: check knows its place.
	bad *string
}

// UnmarshalText reads what time.ParseDuration reads, if it is positive.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		s := string(text)
		d.bad = &s
		return nil
	}
	d.span = v
	return nil
}

// bom begins text files of some editors on Windows. TOML and JSON have no place for
// it, and nobody sees it.
var bom = []byte("\xef\xbb\xbf")

const correctIt = "correct it (docs/config.schema.json describes the file)"

// decode reads the file strictly and checks the values.
func (f *file) decode(path string, data []byte) error {
	data = bytes.TrimPrefix(data, bom)
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return decodeError(path, data, err)
	}
	if err := f.check(); err != nil {
		return &Error{What: "config file " + path + place(data, err.key) + ": " + err.Error(), Do: correctIt, Err: err}
	}
	return nil
}

func decodeError(path string, data []byte, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		// The first is enough: one line, one thing to correct.
		e := &strict.Errors[0]
		row, col := e.Position()
		key := e.Key()
		do := "remove it"
		if near := nearest(reflect.TypeFor[file](), key); near != "" {
			do = "did you mean " + near + "?"
		}
		return &Error{What: fmt.Sprintf("config file %s:%d:%d: unknown key %s", path, row, col, strings.Join(key, ".")), Do: do, Err: err}
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, col := bad.Position()
		what, do := inWords(data, row, strings.TrimPrefix(bad.Error(), "toml: "))
		return &Error{What: fmt.Sprintf("config file %s:%d:%d: %s", path, row, col, what), Do: do, Err: err}
	}
	return &Error{What: "config file " + path + ": " + err.Error(), Do: correctIt, Err: err}
}

// check finds values that TOML's types let through.
func (f *file) check() *valueError {
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		p := f.Providers[name]
		if err := p.check(name); err != nil {
			err.key = append([]string{"providers", name}, err.key...)
			return err
		}
	}
	for _, v := range []struct {
		key   string
		value *int
		least int
	}{
		{"max_steps", f.Limits.MaxSteps, 1}, {"stop_continuations", f.Limits.StopContinuations, 0}, {"retries", f.Limits.Retries, 0},
	} {
		if v.value != nil && *v.value < v.least {
			return &valueError{[]string{"limits", v.key}, fmt.Sprintf("is %d, which is less than %d", *v.value, v.least)}
		}
	}
	if m := f.Limits.MaxTokens; m != nil && *m < 1 {
		return &valueError{[]string{"limits", "max_tokens"}, fmt.Sprintf("is %d, which is less than 1", *m)}
	}
	for key, d := range map[string]*Duration{"idle_timeout": f.Limits.IdleTimeout, "tool_timeout": f.Limits.ToolTimeout} {
		if d != nil && d.bad != nil {
			return &valueError{[]string{"limits", key}, fmt.Sprintf("is %q, which is not a time span such as \"90s\" or \"5m\"", *d.bad)}
		}
	}
	for _, v := range []struct {
		key     []string
		value   string
		allowed []string
	}{
		{[]string{"permissions", "mode"}, f.Permissions.Mode, modes},
		{[]string{"permissions", "remember"}, f.Permissions.Remember, []string{"session", "project"}},
		{[]string{"effort"}, f.Effort, efforts},
		{[]string{"log_level"}, f.LogLevel, []string{"debug", "info", "warn", "error"}},
	} {
		if v.value != "" && !slices.Contains(v.allowed, v.value) {
			return &valueError{v.key, fmt.Sprintf("is %q and not one of %s", v.value, strings.Join(v.allowed, ", "))}
		}
	}
	return nil
}

func (p *fileProvider) check(name string) *valueError {
	switch p.Wire {
	case "", WireChat, WireResponses, WireMessages:
	default:
		return &valueError{[]string{"wire"}, fmt.Sprintf("is %q and not chat, responses or messages", p.Wire)}
	}
	if name == "" || strings.Contains(name, "/") || name == Replay {
		return &valueError{nil, "is a provider that cannot have this name"}
	}
	if p.ContextWindow != nil && *p.ContextWindow < 1 {
		return &valueError{[]string{"context_window"}, fmt.Sprintf("is %d, which is less than 1", *p.ContextWindow)}
	}
	if p.BaseURL == "" && !slices.ContainsFunc(builtin, func(b Provider) bool { return b.Name == name }) {
		return &valueError{nil, "has no base_url"}
	}
	if u, err := url.Parse(p.BaseURL); p.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return &valueError{[]string{"base_url"}, "is not an address that begins with http:// or https://"}
	}
	for _, h := range slices.Sorted(maps.Keys(p.Headers)) {
		switch {
		case !isHeaderName(h):
			return &valueError{[]string{"headers", h}, "is not the name of a header"}
		case strings.ContainsFunc(p.Headers[h], isControl):
			return &valueError{[]string{"headers", h}, "has a line break or another control character, which no header can have"}
		}
	}
	return nil
}

// isHeaderName: a token of HTTP (RFC 9110, 5.6.2).
func isHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
