package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop/model"
	"acp-agent/loop/model/openai"
	"acp-agent/loop/model/openai/responses"
	"acp-agent/session"
)

// TestWhatAPersonSaysOfModels: the window and whether images are shown, on each
// wire, for what is offered and for what is sent.
func TestWhatAPersonSaysOfModels(t *testing.T) {
	var sent string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	defer srv.Close()
	yes, no := true, false
	for _, wire := range []config.Wire{config.WireChat, config.WireResponses, config.WireMessages} {
		for _, images := range []*bool{nil, &yes, &no} {
			p := config.Provider{Name: "local", BaseURL: srv.URL, Wire: wire, Window: 4096, Images: images}
			m := &models{cfg: &config.Config{}}
			c, err := m.adapter(config.ModelRef{Provider: "local", Name: "m"}, p, "")
			if err != nil {
				t.Fatal(err)
			}
			shown := images == &yes
			if c.info.Window != 4096 || c.info.Images != shown || c.info.Ref != "local/m" {
				t.Errorf("%s: %+v", wire, c.info)
			}
			req := &model.Request{
				Head:     session.RequestHead{Config: session.Params{Provider: "local", Model: "m"}},
				Messages: []session.Message{{Role: session.RoleUser, Content: []session.Block{{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}}}},
			}
			for range c.client.Stream(t.Context(), req) {
			}
			if strings.Contains(sent, "aGVsbG8=") != shown {
				t.Errorf("%s, shown is %v: %s", wire, shown, sent)
			}
		}
	}
}

// TestTheModelThatIsSetIsOffered: one that no table has, too, so that a session
// that was switched to another can go back to it.
func TestTheModelThatIsSetIsOffered(t *testing.T) {
	for ref, want := range map[string]int{"deepseek/of-tomorrow": 1, "deepseek/deepseek-v4-flash": 1, "openai/without-a-key": 0} {
		cfg, err := config.Load(config.Flags{Model: ref, StateDir: t.TempDir()}, config.NewEnv([]string{"HOME=" + t.TempDir(), "DEEPSEEK_API_KEY=sk-test"}))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, info := range (&models{cfg: cfg}).known() {
			if info.Ref == ref {
				got++
			}
		}
		if got != want {
			t.Errorf("%s is offered %d times, want %d", ref, got, want)
		}
	}
}

// TestModelsAreOfferedAsTheirWireHasThem: what fits an agent best on Chat Completions,
// which refuses the newest their reasoning, is not what does on Responses.
func TestModelsAreOfferedAsTheirWireHasThem(t *testing.T) {
	for wire, known := range map[config.Wire]func(string) []model.Info{config.WireChat: openai.Known, config.WireResponses: responses.Known} {
		var want []string
		for _, info := range known("openai") {
			want = append(want, strings.TrimPrefix(info.Ref, "openai/"))
		}
		got := (&models{}).names(config.Provider{Name: "openai", Wire: wire})
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: offered are %q, want %q", wire, got, want)
		}
	}
}
