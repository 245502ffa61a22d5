package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Wire names the protocol that a provider speaks.
type Wire string

// The wires.
const (
	WireChat      Wire = "chat"      // OpenAI Chat Completions
	WireResponses Wire = "responses" // OpenAI Responses
	WireMessages  Wire = "messages"  // Anthropic Messages
)

// Provider is an endpoint that serves models.
type Provider struct {
	Name    string
	BaseURL string
	// KeyEnv is the variable that holds its key; empty when it needs none.
	KeyEnv string
	// TokenEnv is the variable that holds a token for Authorization, which goes
	// before the key where it is set; empty for none. Bearer: it is set, and KeyEnv
	// names it.
	TokenEnv string
	Bearer   bool
	Headers  map[string]string
	Wire     Wire
	// Models are the names to offer in a client's model picker; the first is the
	// default. Any other name may be used all the same.
	Models []string
	// Window is the context window of its models in tokens, Images whether they are
	// shown images; 0 and nil: what is known of each.
	Window int64
	Images *bool
}

// Address is the endpoint as it may be shown: without a user, a password and a
// query, which may hold a key. What is no address is not shown at all.
func (p *Provider) Address() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		return "no address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// builtin are the providers that need no config, in the order in which a default
// model is looked for. A config table of the same name changes single fields.
var builtin = []Provider{
	{Name: "deepseek", BaseURL: "https://api.deepseek.com", KeyEnv: "DEEPSEEK_API_KEY", Wire: WireChat, Models: []string{"deepseek-v4-flash", "deepseek-v4-pro"}},
	{Name: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", Wire: WireChat, Models: []string{"gpt-5.5"}},
	{Name: "anthropic", BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY", TokenEnv: "ANTHROPIC_AUTH_TOKEN", Wire: WireMessages, Models: []string{"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"}},
}

// ProviderNames lists the providers: the built-in ones, then those of the config
// file by name.
func (c *Config) ProviderNames() []string {
	var names []string
	for i := range builtin {
		names = append(names, builtin[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.file.Providers)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Provider returns a provider with its endpoint.
func (c *Config) Provider(name string) (Provider, error) {
	p, ok := c.provider(name)
	if !ok {
		return Provider{}, &Error{What: fmt.Sprintf("no provider is called %q", name), Do: c.modelHelp()}
	}
	return p, nil
}

func (c *Config) provider(name string) (Provider, bool) {
	var p Provider
	i := slices.IndexFunc(builtin, func(p Provider) bool { return p.Name == name })
	if i >= 0 {
		p = builtin[i]
	}
	t, inFile := c.file.Providers[name]
	if i < 0 && !inFile {
		return p, false
	}
	p.Name = name
	p.BaseURL = first(t.BaseURL, p.BaseURL)
	if p.Bearer = t.APIKeyEnv == "" && p.TokenEnv != "" && c.env.Get(p.TokenEnv) != ""; p.Bearer {
		p.KeyEnv = p.TokenEnv // as in Claude Code (authentication, precedence): gateways are set up by it
	}
	p.KeyEnv = first(t.APIKeyEnv, p.KeyEnv)
	p.Wire = Wire(first(string(t.Wire), string(p.Wire), string(WireChat)))
	if t.Headers != nil {
		p.Headers = t.Headers
	}
	if len(t.Models) > 0 {
		p.Models = t.Models
	}
	if p.Images = t.Images; t.ContextWindow != nil {
		p.Window = *t.ContextWindow
	}
	if i >= 0 {
		p.BaseURL = first(c.env.Get(strings.ToUpper(name)+"_BASE_URL"), p.BaseURL)
		// OpenAI's own newer models take tools together with reasoning on the
		// Responses wire alone; servers that call themselves compatible mean Chat
		// Completions.
		if name == "openai" && t.Wire == "" && p.BaseURL == builtin[i].BaseURL {
			p.Wire = WireResponses
		}
	}
	return p, true
}

// Key returns a provider's key: its variable, else the stored credential. It is
// looked up anew at each call, so that a login is seen without a restart. A
// provider that needs no key has the empty one; a missing key, and one that no
// header can hold, is an *Error with Auth set. Blanks and line ends around a key
// are not part of it: files that are read into variables end with one.
func (c *Config) Key(name string) (string, error) {
	p, err := c.Provider(name)
	if err != nil {
		return "", err
	}
	if p.KeyEnv != "" {
		if key := strings.TrimSpace(c.env.Get(p.KeyEnv)); key != "" {
			return key, usable(key, p.KeyEnv, "set it anew")
		}
	}
	stored, err := c.credentials()
	if err != nil {
		return "", err
	}
	if key := strings.TrimSpace(stored[name]); key != "" || p.KeyEnv == "" {
		return key, usable(key, c.CredentialsFile(), "run `acp-agent login` again")
	}
	return "", &Error{
		What: "no API key for " + name,
		Do:   "set " + p.KeyEnv + ", or run `acp-agent login`" + c.credentialsHint(),
		Auth: true,
	}
}

func usable(key, where, do string) error {
	if strings.ContainsFunc(key, isControl) {
		return &Error{What: "the API key in " + where + " has a line break or another control character in it", Do: do, Auth: true}
	}
	return nil
}

func (c *Config) keyVariables() []string {
	var vars []string
	for _, name := range c.ProviderNames() {
		if p, _ := c.provider(name); p.KeyEnv != "" && !slices.Contains(vars, p.KeyEnv) {
			vars = append(vars, p.KeyEnv)
		}
	}
	return vars
}

// secretVariables are keyVariables and those that another has gone before.
func (c *Config) secretVariables() []string {
	vars := c.keyVariables()
	for i := range builtin {
		for _, v := range []string{builtin[i].KeyEnv, builtin[i].TokenEnv} {
			if v != "" && !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
		}
	}
	return vars
}

// Environ is the environment of tools: the process's own less the providers'
// keys, which a command has no business with. Everything else is inherited, so
// that gh and the like still work. tools.env of the config file lets named keys
// through.
func (c *Config) Environ() []string { return c.environ(c.file.Tools.Env) }

// HookEnviron is the environment of hooks, by the same rule and hooks.env.
func (c *Config) HookEnviron() []string { return c.environ(c.file.Hooks.Env) }

// environ is asked for before a child is started: from then on there may be
// programs that look at this one.
func (c *Config) environ(allowed []string) []string {
	c.Conceal()
	hidden := slices.DeleteFunc(c.secretVariables(), func(v string) bool {
		return slices.ContainsFunc(allowed, func(a string) bool { return c.env.same(a, v) })
	})
	return c.env.without(hidden)
}

// Conceal takes the providers' keys out of what the kernel shows of the process's own
// environment, once; whoever comes second waits for the first. A kernel that does not
// allow it leaves things as they are with any program.
func (c *Config) Conceal() {
	if c.env.conceal != nil {
		c.env.conceal.Do(func() { _ = concealed(c.secretVariables()) })
	}
}

// minSecret is the length from which on a key is taken for one when text is
// redacted: replacing every "x" of a log because a test uses the key "x" would
// destroy it.
const minSecret = 8

// Secrets returns the keys that must not appear in logs, errors or traces.
func (c *Config) Secrets() []string {
	var out []string
	add := func(s string) {
		if len(s) >= minSecret && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, v := range c.secretVariables() {
		add(strings.TrimSpace(c.env.Get(v)))
	}
	// Unreadable credentials hold no key that this process could leak.
	stored, _ := c.credentials()
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		add(strings.TrimSpace(stored[name]))
	}
	return out
}
