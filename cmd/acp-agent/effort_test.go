package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/loop"
	"acp-agent/loop/model/anthropic"
	"acp-agent/loop/model/openai"
)

// TestEffortFollowsTheModel sets model and effort as a client does, over the
// wire, and looks at what the providers are then sent: DeepSeek's thinking off,
// on again over a history without reasoning, other models with efforts of their
// own, and one that takes none.
func TestEffortFollowsTheModel(t *testing.T) {
	f := newFakeModels(t)
	env := []string{"OPENAI_API_KEY=sk-fake-0123456789", "OPENAI_BASE_URL=" + f.url + "/openai"}
	for _, name := range []string{"deepseek", "anthropic"} {
		env = append(env, strings.ToUpper(name)+"_API_KEY=sk-fake-0123456789", strings.ToUpper(name)+"_BASE_URL="+f.url+"/"+name)
	}
	c, _ := agentProcess(t, env, "serve", "--model", "deepseek/deepseek-v4-flash")
	ctx := t.Context()
	call := func(method string, params, result any) {
		t.Helper()
		if err := c.Call(ctx, method, params, result); err != nil {
			t.Fatal(err)
		}
	}
	call(acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil)
	var made acp.NewSessionResponse
	call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: t.TempDir()}, &made)
	set := func(id, value string) []acp.SessionConfigOption {
		t.Helper()
		var res acp.SetSessionConfigOptionResponse
		call(acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: made.SessionID, ConfigID: id, Value: acp.SessionConfigOptionValue{ID: value}}, &res)
		return res.ConfigOptions
	}
	// body runs a prompt and returns the fields of its first request.
	body := func(prompt string) map[string]any {
		t.Helper()
		f.take()
		var res acp.PromptResponse
		call(acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: made.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}}, &res)
		var v map[string]any
		if err := json.Unmarshal([]byte(f.take()[0]), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := func(v map[string]any, key, value string) {
		t.Helper()
		got, err := json.Marshal(v[key])
		if err != nil || string(got) != value {
			t.Errorf("%s is %s, want %s", key, got, value)
		}
	}

	deepseek := openai.Lookup("deepseek", "deepseek-v4-flash").Efforts
	wantEfforts(t, made.ConfigOptions, "default", deepseek)
	v := body("say zero")
	want(v, "thinking", "null")
	want(v, "reasoning_effort", "null")
	wantEfforts(t, set(loop.ConfigEffort, "off"), "off", deepseek)
	v = body("work one")
	want(v, "thinking", `{"type":"disabled"}`)
	want(v, "reasoning_effort", "null")
	wantEfforts(t, set(loop.ConfigEffort, "max"), "max", deepseek)
	v = body("work two") // the strict server wants reasoning with the calls of one, too
	want(v, "thinking", `{"type":"enabled"}`)
	want(v, "reasoning_effort", `"max"`)

	wantEfforts(t, set(loop.ConfigModel, "anthropic/claude-sonnet-5-5"), "max", anthropic.Lookup("anthropic", "claude-sonnet-5-5").Efforts)
	want(body("work three"), "output_config", `{"effort":"max"}`)
	wantEfforts(t, set(loop.ConfigModel, "openai/gpt-4.1"), "", nil)
	want(body("say four"), "reasoning_effort", "null")
	wantEfforts(t, set(loop.ConfigModel, "deepseek/deepseek-v4-pro"), "default", deepseek)
	want(body("say five"), "thinking", "null")
	for _, why := range f.refused {
		t.Errorf("a strict provider refused: %s", why)
	}
	checkShown(t, c, made.SessionID, "say zero", "work one", "work two", "work three", "say four", "say five")
}

// checkShown holds that each prompt's final answer was shown.
func checkShown(t *testing.T, c *acptest.Client, id string, prompts ...string) {
	t.Helper()
	shown := c.Text(id)
	for _, p := range prompts {
		final, _, _ := strings.Cut(finalText(p), ":")
		if strings.Count(shown, final) != 1 {
			t.Errorf("%q is not once in what was shown: %s", final, shown)
		}
	}
}

// wantEfforts holds the effort option to a model's list; no list, no option.
func wantEfforts(t *testing.T, options []acp.SessionConfigOption, current string, efforts []string) {
	t.Helper()
	i := slices.IndexFunc(options, func(o acp.SessionConfigOption) bool { return o.ID == loop.ConfigEffort })
	if i < 0 {
		if len(efforts) > 0 {
			t.Error("there is no effort option")
		}
		return
	}
	var got []string
	for _, o := range options[i].Select.Options.Ungrouped {
		got = append(got, o.Value)
	}
	if want := append([]string{"default"}, efforts...); !slices.Equal(got, want) || options[i].Select.CurrentValue != current {
		t.Errorf("efforts %q, current %s; want %q, current %s", got, options[i].Select.CurrentValue, want, current)
	}
}
