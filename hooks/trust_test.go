package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

func projectHandler(project, raw string, group int) *Handler {
	return &Handler{
		Dialect: "claude-code", Event: Stop, Type: "command", Command: raw,
		Place: Place{File: filepath.Join(project, ".claude", "settings.json"), Layer: LayerProject, Group: group},
		Hash:  HashHandler("claude-code", Stop, "", json.RawMessage(raw)),
	}
}

func TestHashIsOfContent(t *testing.T) {
	base := HashHandler("d", Stop, "m", json.RawMessage(`{"a":1,"b":"x"}`))
	if base != HashHandler("d", Stop, "m", json.RawMessage(` { "b" : "x", "a":1 }`)) {
		t.Error("order and blanks count")
	}
	for name, other := range map[string]string{
		"dialect": HashHandler("e", Stop, "m", json.RawMessage(`{"a":1,"b":"x"}`)),
		"event":   HashHandler("d", PreToolUse, "m", json.RawMessage(`{"a":1,"b":"x"}`)),
		"matcher": HashHandler("d", Stop, "n", json.RawMessage(`{"a":1,"b":"x"}`)),
		"content": HashHandler("d", Stop, "m", json.RawMessage(`{"a":1,"b":"y"}`)),
		"number":  HashHandler("d", Stop, "m", json.RawMessage(`{"a":1.00000000000000001,"b":"x"}`)),
	} {
		if other == base {
			t.Errorf("%s does not count", name)
		}
	}
}

// openai/codex#46210, devthrottle#3292: states, and "modified" after an edit.
func TestTrustStates(t *testing.T) {
	store := OpenTrust(filepath.Join(t.TempDir(), "state"))
	project := t.TempDir()
	h := projectHandler(project, `{"command":"a"}`, 0)
	edited := projectHandler(project, `{"command":"b"}`, 0)
	elsewhere := projectHandler(project, `{"command":"a"}`, 5)
	check := func(what string, h *Handler, project string, want TrustState) {
		t.Helper()
		if got := store.State(project, h); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("at first", h, project, TrustUntrusted)
	if err := store.Set(project, []*Handler{h}, TrustTrusted); err != nil {
		t.Fatal(err)
	}
	check("trusted", h, project, TrustTrusted)
	check("moved", elsewhere, project, TrustTrusted)
	check("edited", edited, project, TrustModified)
	check("in another project", h, t.TempDir(), TrustUntrusted)
	if err := store.Set(project, []*Handler{edited}, TrustRejected); err != nil {
		t.Fatal(err)
	}
	check("rejected", edited, project, TrustRejected)
	check("the older content, after a no", h, project, TrustUntrusted)
	if err := store.Set(project, []*Handler{edited}, TrustUntrusted); err != nil {
		t.Fatal(err)
	}
	check("forgotten", edited, project, TrustUntrusted)

	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	if err := store.Set(link, []*Handler{h}, TrustTrusted); err != nil {
		t.Fatal(err)
	}
	check("through a symlink", h, project, TrustTrusted)

	fi, err := os.Stat(store.path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

func TestTrustUnreadable(t *testing.T) {
	dir := t.TempDir()
	store := OpenTrust(dir)
	project := t.TempDir()
	h := projectHandler(project, `{}`, 0)
	for _, text := range []string{"{", `{"version":99}`} {
		if err := os.WriteFile(store.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		store = OpenTrust(dir)
		if store.State(project, h) != TrustUntrusted || store.Err() == nil {
			t.Errorf("%s: trusted, or no error", text)
		}
		if err := store.Set(project, []*Handler{h}, TrustTrusted); err == nil {
			t.Errorf("%s: overwritten", text)
		}
	}
}

// Several processes, here several stores, write at the same time: none is lost.
func TestTrustConcurrent(t *testing.T) {
	dir := t.TempDir()
	project := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			h := projectHandler(project, `{"n":`+strconv.Itoa(i)+`}`, i)
			if err := OpenTrust(dir).Set(project, []*Handler{h}, TrustTrusted); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	store := OpenTrust(dir)
	for i := range 20 {
		if st := store.State(project, projectHandler(project, `{"n":`+strconv.Itoa(i)+`}`, i)); st != TrustTrusted {
			t.Errorf("%d is %s", i, st)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".trusted-hooks-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What is forgotten of a project is all of it, also what was decided about hooks
// that another branch has; and another process sees it.
func TestForget(t *testing.T) {
	dir, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	a, b := OpenTrust(dir), OpenTrust(dir)
	h := func(hash string) *Handler {
		return &Handler{Dialect: "claude-code", Event: Stop, Hash: hash, Place: Place{File: "/f" + hash, Layer: LayerProject}}
	}
	if n, err := a.Forget(one); n != 0 || err != nil {
		t.Errorf("nothing there: %d, %v", n, err)
	}
	if err := a.Set(one, []*Handler{h("1"), h("2")}, TrustTrusted); err != nil {
		t.Fatal(err)
	}
	if err := a.Set(one, []*Handler{h("3")}, TrustRejected); err != nil {
		t.Fatal(err)
	}
	if err := a.Set(two, []*Handler{h("1")}, TrustTrusted); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Forget(one); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for hash, want := range map[string]TrustState{"1": TrustUntrusted, "2": TrustUntrusted, "3": TrustUntrusted} {
		if got := a.State(one, h(hash)); got != want {
			t.Errorf("%s: %s", hash, got)
		}
	}
	if got := a.State(two, h("1")); got != TrustTrusted {
		t.Errorf("the other project's: %s", got)
	}
}

// A decision that was kept is taken back in a session that goes on, too; one for
// the session alone stays.
func TestForgetInAnotherProcess(t *testing.T) {
	for _, always := range []bool{true, false} {
		cc, _, set := newFakes()
		h := cc.add(Stop, says(Answer{}))
		h.Place.Layer = LayerProject
		dir, project := t.TempDir(), t.TempDir()
		s := set(func(o *Options) { o.Trust, o.ProjectDir = OpenTrust(dir), project })
		if err := s.Approve([]string{h.ID()}, always); err != nil {
			t.Fatal(err)
		}
		again := func() *Set {
			h.Trust = ""
			return set(func(o *Options) { o.Trust, o.ProjectDir, o.Previous = OpenTrust(dir), project, s })
		}
		if s = again(); !h.Trust.Runs() {
			t.Errorf("always %v: lost", always)
		}
		if _, err := OpenTrust(dir).Forget(project); err != nil {
			t.Fatal(err)
		}
		if s = again(); h.Trust.Runs() == always {
			t.Errorf("always %v: %s after it was taken back", always, h.Trust)
		}
	}
}
