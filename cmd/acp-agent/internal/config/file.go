package config

import (
	"errors"
	"fmt"
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
	BaseURL   string            `toml:"base_url" json:"base_url,omitempty" jsonschema:"description=Endpoint; the variable PROVIDER_BASE_URL of a built-in provider beats it.,example=http://127.0.0.1:11434/v1"`
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
type Duration struct{ span time.Duration }

// UnmarshalText reads what time.ParseDuration reads, if it is positive.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a time span such as \"90s\" or \"5m\"", text)
	}
	d.span = v
	return nil
}

// decode reads the file strictly and checks the values.
func (f *file) decode(path string, data []byte) error {
	dec := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return decodeError(path, err)
	}
	if err := f.check(); err != nil {
		return &Error{What: "config file " + path + ": " + err.Error(), Do: "correct it (docs/config.schema.json describes the file)"}
	}
	return nil
}

func decodeError(path string, err error) error {
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
		msg := strings.TrimPrefix(bad.Error(), "toml: ")
		return &Error{What: fmt.Sprintf("config file %s:%d:%d: %s", path, row, col, msg), Do: "correct it (docs/config.schema.json describes the file)", Err: err}
	}
	return &Error{What: "config file " + path + ": " + err.Error(), Do: "correct it (docs/config.schema.json describes the file)", Err: err}
}

// check finds values that TOML's types let through.
func (f *file) check() error {
	for name, p := range f.Providers {
		switch p.Wire {
		case "", WireChat, WireResponses, WireMessages:
		default:
			return fmt.Errorf("providers.%s.wire is %q and not chat, responses or messages", name, p.Wire)
		}
		if strings.Contains(name, "/") || name == Replay {
			return fmt.Errorf("providers.%s: a provider cannot have this name", name)
		}
		if p.ContextWindow != nil && *p.ContextWindow < 1 {
			return fmt.Errorf("providers.%s.context_window is %d, which is less than 1", name, *p.ContextWindow)
		}
		if p.BaseURL == "" && !slices.ContainsFunc(builtin, func(b Provider) bool { return b.Name == name }) {
			return fmt.Errorf("providers.%s has no base_url", name)
		}
	}
	for key, v := range map[string]*int{
		"max_steps": f.Limits.MaxSteps, "stop_continuations": f.Limits.StopContinuations, "retries": f.Limits.Retries,
	} {
		least := 0
		if key == "max_steps" {
			least = 1
		}
		if v != nil && *v < least {
			return fmt.Errorf("limits.%s is %d, which is less than %d", key, *v, least)
		}
	}
	if m := f.Limits.MaxTokens; m != nil && *m < 1 {
		return fmt.Errorf("limits.max_tokens is %d, which is less than 1", *m)
	}
	for key, v := range map[string]struct {
		value   string
		allowed []string
	}{
		"permissions.mode":     {f.Permissions.Mode, modes},
		"permissions.remember": {f.Permissions.Remember, []string{"session", "project"}},
		"effort":               {f.Effort, efforts},
		"log_level":            {f.LogLevel, []string{"debug", "info", "warn", "error"}},
	} {
		if v.value != "" && !slices.Contains(v.allowed, v.value) {
			return fmt.Errorf("%s is %q and not one of %s", key, v.value, strings.Join(v.allowed, ", "))
		}
	}
	return nil
}
