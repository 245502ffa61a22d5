package config

import (
	"os"
	"strings"
	"testing"
)

// A mistake is said with its file, line, key and what to do, in no words of Go.
func TestMistakesAreSaid(t *testing.T) {
	for text, want := range map[string]string{
		"\nmodel = 5":                                               ":2:9: model must be text in quotes, and is an integer: correct it",
		"model = deepseek/x":                                        "put text in quotes",
		"model = \"acme/x\"":                                        ":1:1: no provider is called \"acme\": write PROVIDER/NAME",
		"# x\n\neffort = \"huge\"":                                  ":3:1: effort is \"huge\" and not one of off,",
		"[limits]\nretries = \"3\"":                                 ":2:11: limits.retries must be a whole number, and is a string",
		"[limits]\nmax_steps = 1.5":                                 "limits.max_steps must be a whole number, and is a float",
		"[limits]\n\nretries = -1":                                  ":3:1: limits.retries is -1, which is less than 0",
		"limits = {retries = -1}":                                   ":1:1: limits.retries is -1",
		"limits.retries = -1":                                       ":1:1: limits.retries is -1",
		"[limits]\nidle_timeout = 5":                                ":2:1: limits.idle_timeout is \"5\", which is not a time span such as",
		"[limits]\ntool_timeout = \"0s\"":                           ":2:1: limits.tool_timeout is \"0s\", which is not a time span",
		"[hooks]\nenabled = \"no\"":                                 "hooks.enabled must be true or false, and is a string",
		"[permissions]\nallow = \"Bash\"":                           "permissions.allow must be a list of texts, such as [\"a\", \"b\"], and is a string",
		"[permissions]\nallow = [\n  5,\n]":                         ":3:3: permissions.allow must be text in quotes, and is an integer",
		"providers = 5":                                             "providers must be a table, and is an integer",
		"[providers.a]\nbase_url = \"h:1/v1\"":                      ":2:1: providers.a.base_url is not an address that begins with http:// or https://",
		"[providers.a]\nmodels = []":                                ":1:2: providers.a has no base_url",
		"[providers.\"\"]\nbase_url = \"http://x\"":                 ":1:2: providers.\"\" is a provider that cannot have this name",
		"[providers.a]\nbase_url = \"http://x\"\nwire = \"telnet\"": ":3:1: providers.a.wire is \"telnet\"",
		"[providers.a]\nbase_url = \"http://x\"\nheaders = {\"A B\" = \"\"}":           ":3:1: providers.a.headers.\"A B\" is not the name of a header",
		"[providers.a.headers]\nX = \"a\\nb\"\n[providers.a]\nbase_url = \"http://x\"": ":2:1: providers.a.headers.X has a line break",
	} {
		env := testEnv(t)
		writeConfig(t, env, text)
		_, err := Load(Flags{}, env)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "struct") {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// Editors on Windows begin a file with a mark that nobody sees.
func TestByteOrderMark(t *testing.T) {
	env := testEnv(t)
	writeConfig(t, env, "\ufeffmodel = \"deepseek/x\"\n")
	c, err := Load(Flags{}, env)
	if err != nil || c.Model.Name != "x" {
		t.Fatalf("%v, %v", c, err)
	}
	if err := os.WriteFile(c.CredentialsFile(), []byte("\ufeff{\"deepseek\": \"one\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := c.Key("deepseek"); key != "one" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
}

// Keys that cannot be read are not the same as none.
func TestDamagedCredentialsAreSaid(t *testing.T) {
	env := testEnv(t)
	writeConfig(t, env, "")
	c, err := Load(Flags{}, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.CredentialsFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ResolveModel(); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("%v", err)
	}
}
