package claudecode

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// Sessions share what was read: what a dialect settles of a handler is its own.
func TestNewLeavesFilesAsTheyAre(t *testing.T) {
	const text = `{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"b","timeout":3}]}]}}`
	f, problems := parseFile("/f", hooks.LayerProject, []byte(text))
	if len(f.Handlers) != 2 {
		t.Fatal(f.Handlers, problems)
	}
	f.offBy = repositorySwitch(f, "enabledPlugins", "false", "switches off a plugin")
	off := New(Config{Files: []*File{f}, Env: hooks.Environ{"CLAUDE_CODE_SIMPLE=1", "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=7"}})
	for _, h := range off.Handlers() {
		h.Trust = hooks.TrustTrusted
		if h.Type != hooks.SwitchType && (h.Why == "" || !extOf(h).quiet || h.OffBy == nil) {
			t.Errorf("%s: %+v", h.Describe(), h)
		}
	}
	for _, h := range append(f.Handlers, f.offBy) {
		if h.Why != "" || h.OffBy != nil || h.Trust != "" || extOf(h).quiet || h.Timeout == 7*time.Millisecond {
			t.Errorf("%s has been changed: %+v", h.Describe(), h)
		}
	}
	on := New(Config{Files: []*File{f}}).Handlers()
	if h := on[0]; h.Why != "" || h.Trust != "" || h.OffBy != on[2] || on[2] == f.offBy || extOf(h).quiet {
		t.Errorf("the second has what is the first's: %+v", h)
	}
}

// The whole table of disableAllHooks, allowManagedHooksOnly and
// strictPluginOnlyCustomization (Claude Code settings reference). A file is
// written layer: settings; the hooks that are left come out.
func TestSwitchTable(t *testing.T) {
	type files []string
	for _, c := range []struct {
		name  string
		files files
		want  string
	}{
		{"nothing said", files{"managed:", "user:", "explicit:", "project:", "local:"}, "managed user explicit project local"},
		{"user", files{"managed:", `user:"disableAllHooks":true`, "explicit:", "project:"}, "managed"},
		{"named on the command line", files{"managed:", "user:", `explicit:"disableAllHooks":true`, "project:"}, "managed"},
		{"named undoes user", files{`user:"disableAllHooks":true`, `explicit:"disableAllHooks":false`}, "user explicit"},
		{"project undoes user", files{`user:"disableAllHooks":true`, `project:"disableAllHooks":false`}, "user project"},
		{"local undoes project", files{"user:", `project:"disableAllHooks":true`, `local:"disableAllHooks":false`}, "user project local"},
		{"a repository asks for it", files{"managed:", "user:", "explicit:", `project:"disableAllHooks":true`}, "managed user? explicit?"},
		{"its local file asks", files{"user:", `local:"disableAllHooks":true`}, "user?"},
		{"both say so", files{"user:" + `"disableAllHooks":true`, `project:"disableAllHooks":true`}, ""},
		{"managed", files{`managed:"disableAllHooks":true`, `user:"disableAllHooks":false`}, ""},
		{"managed false stands", files{`managed:"disableAllHooks":false`, `user:"disableAllHooks":true`, `project:"disableAllHooks":true`}, "managed user project"},
		{"a later managed file", files{`managed:"disableAllHooks":true`, `managed:"disableAllHooks":false`, "user:"}, "managed managed user"},
		{"managed only", files{`managed:"allowManagedHooksOnly":true`, "user:", "explicit:", "project:"}, "managed"},
		{"managed only, taken back", files{`managed:"allowManagedHooksOnly":true`, `managed:"allowManagedHooksOnly":false`, "user:"}, "managed managed user"},
		{"managed only by a user", files{"managed:", `user:"allowManagedHooksOnly":true`}, "managed user"},
		{"managed only and all off", files{`managed:"allowManagedHooksOnly":true`, `user:"disableAllHooks":true`}, "managed"},
		{"plugins only", files{`managed:"strictPluginOnlyCustomization":true`, "user:", "explicit:", "project:"}, "managed"},
		{"plugins only, a list", files{`managed:"strictPluginOnlyCustomization":["hooks"]`, "user:"}, "managed"},
		{"plugins only, of something else", files{`managed:"strictPluginOnlyCustomization":["mcp"]`, "user:"}, "managed user"},
		{"plugins only, an object", files{`managed:"strictPluginOnlyCustomization":{"hooks":true}`, "user:"}, "managed"},
		{"plugins only, nonsense locks", files{`managed:"strictPluginOnlyCustomization":7`, "user:"}, "managed"},
		{"plugins only by a user", files{`user:"strictPluginOnlyCustomization":true`}, "user"},
	} {
		var fs []*File
		for i, text := range c.files {
			layer, extra, _ := strings.Cut(text, ":")
			if extra != "" {
				extra += ","
			}
			f, _ := parseFile(fmt.Sprintf("/%d", i), hooks.Layer(layer), []byte(`{`+extra+`"hooks":{"Stop":[{"hooks":[{"type":"command","command":"`+layer+`"}]}]}}`))
			fs = append(fs, f)
		}
		var got []string
		for _, h := range New(Config{Files: fs}).Handlers() {
			switch {
			case h.Type == hooks.SwitchType, h.Why != "":
			case h.OffBy != nil:
				got = append(got, h.Command+"?")
			default:
				got = append(got, h.Command)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// A repository that switches all hooks off does not silence the guards of
// whoever opens it: it is asked about, its own hooks are off, the person's run.
// Once agreed to, it counts, until it changes.
func TestRepositoryCannotSilence(t *testing.T) {
	p := newPlaces(t)
	write(t, filepath.Join(p.home, ".claude", "settings.json"), one("Stop", "echo mine >&2; exit 2"))
	project := write(t, filepath.Join(p.cwd, ".claude", "settings.json"), `{"disableAllHooks":true,`+one("Stop", "echo theirs >&2; exit 2")[1:])
	store := hooks.OpenTrust(filepath.Join(p.root, "state"))
	engine := func() *hooks.Set {
		files, problems := Discover(p.opts)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: files, Env: p.opts.Env, Home: p.home})}, ProjectDir: p.cwd, Trust: store})
		t.Cleanup(s.Close)
		return s
	}
	stop := func(s *hooks.Set) *hooks.Outcome {
		b := s.Match(&hooks.Call{Event: hooks.Stop, Cwd: p.cwd, ProjectDir: p.cwd})
		if b == nil {
			return &hooks.Outcome{}
		}
		return b.Run(t.Context())
	}
	s := engine()
	out := stop(s)
	if len(out.Reasons) != 1 || out.Reasons[0].Text != "mine" || len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, "disableAllHooks is set in "+project) {
		t.Errorf("%+v %+v", out.Reasons, out.Notices)
	}
	held := s.Held()
	if len(held) != 1 || held[0].Type != hooks.SwitchType || !strings.Contains(held[0].Describe(), "yours too") {
		t.Fatalf("%+v", held)
	}
	if err := s.Approve([]string{held[0].ID()}, true); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*hooks.Set{s, engine()} {
		if out := stop(s); len(out.Reasons) > 0 || len(out.Notices) > 1 || s.Has(hooks.Stop) {
			t.Errorf("agreed to: %+v %+v", out.Reasons, out.Notices)
		}
	}
	// The same words in another of its files: the same consent.
	write(t, project, `{}`)
	write(t, filepath.Join(p.repo, ".claude", "settings.local.json"), `{"disableAllHooks":true}`)
	if out := stop(engine()); len(out.Reasons) != 0 {
		t.Errorf("%+v", out.Reasons)
	}
}

// What a repository says about http hooks is about its own: it can neither
// silence the person's nor widen what they may use.
func TestHTTPAllowLists(t *testing.T) {
	hook := func(url string) string {
		return `"hooks":{"Stop":[{"hooks":[{"type":"http","url":"` + url + `","headers":{"A":"$ONE$TWO"},"allowedEnvVars":["ONE","TWO"]}]}]}`
	}
	for _, c := range []struct{ name, user, project, want string }{
		{"no list", `{` + hook("http://u") + `}`, `{` + hook("http://p") + `}`, "http://u=12 http://p=12"},
		{"the person's list is everybody's", `{"allowedHttpHookUrls":["http://u"],"httpHookAllowedEnvVars":["ONE"],` + hook("http://u") + `}`, `{` + hook("http://p") + `}`, "http://u=1"},
		{
			"merged for the repository's", `{"allowedHttpHookUrls":["http://u"],"httpHookAllowedEnvVars":["ONE"],` + hook("http://u") + `}`,
			`{"allowedHttpHookUrls":["http://p"],"httpHookAllowedEnvVars":["TWO"],` + hook("http://p") + `}`, "http://u=1 http://p=12",
		},
		{"an empty list blocks all", `{"allowedHttpHookUrls":[],` + hook("http://u") + `}`, `{` + hook("http://p") + `}`, ""},
		{"a repository's does not block the person's", `{` + hook("http://u") + `}`, `{"allowedHttpHookUrls":[],"httpHookAllowedEnvVars":[],` + hook("http://p") + `}`, "http://u=12"},
	} {
		u, _ := parseFile("/u", hooks.LayerUser, []byte(c.user))
		p, _ := parseFile("/p", hooks.LayerProject, []byte(c.project))
		d := New(Config{Files: []*File{u, p}, Env: hooks.Environ{"ONE=1", "TWO=2"}})
		var got []string
		for _, h := range d.Handlers() {
			if h.Why == "" {
				got = append(got, extOf(h).url+"="+d.header(extOf(h), extOf(h).headers["A"]))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestURLMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"*", "http://anything/x", true},
		{"https://hooks.example.com/*", "https://hooks.example.com/a?b=c", true},
		{"https://hooks.example.com/*", "https://HOOKS.example.com./a", true},
		{"https://Hooks.Example.com./*", "https://hooks.example.com/a", true},
		{"https://hooks.example.com/*", "http://hooks.example.com/a", false},
		{"https://hooks.example.com/*", "https://hooks.example.com.evil.com/a", false},
		{"https://hooks.example.com/*", "https://hooks.example.com@evil.com/a", false},
		{"https://hooks.example.com/*", "https://evil.com/https://hooks.example.com/", false},
		{"https://hooks.example.com/a/*", "https://hooks.example.com/b", false},
		{"https://hooks.example.com/A", "https://hooks.example.com/a", false},
		{"http://localhost:*", "http://localhost:8080/x/y", true},
		{"http://localhost:*", "http://localhost:1@evil.com/", false},
		{"http://localhost:*", "http://localhost/", false},
		{"https://*.example.com/*", "https://a.b.example.com/x", true},
		{"https://*.example.com/*", "https://evil.com/.example.com/", false},
		{"https://*.example.com/*", "https://evil.com?.example.com/", false},
		{"https://*.example.com/*", "https://evil.com#.example.com/", false},
		{"*.example.com/*", "http://x.example.com/", true},
		{"http://[::1]:9/*", "http://[::1]:9/x", true},
		{"https://a.com", "https://a.com/", true},
		{"https://a.com", "https://a.com/b", false},
		{"https://a.com*", "https://a.com/b", true},
		{"https://a.com/*", "://bad", false},
	} {
		if got := urlMatches(c.pattern, c.url); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.url, got)
		}
	}
}

// The env blocks of settings merge by precedence, key by key; a repository's
// goes to its own hooks alone.
func TestSettingsEnv(t *testing.T) {
	parse := func(layer hooks.Layer, env string) *File {
		f, problems := parseFile("/"+string(layer), layer, []byte(`{"env":{`+env+`}}`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return f
	}
	d := New(Config{Env: hooks.Environ{"A=env", "Z=env"}, Files: []*File{
		parse(hooks.LayerManaged, `"A":"managed"`), parse(hooks.LayerUser, `"A":"user","B":"user","C":"user"`),
		parse(hooks.LayerExplicit, `"A":"named","B":"named"`), parse(hooks.LayerProject, `"C":"project","D":"project"`),
	}})
	for key, want := range map[string]string{"A": "managed", "B": "named", "C": "user", "D": "", "Z": "env"} {
		if got, _ := d.env.Get(key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
}

// CLAUDE_CONFIG_DIR inside the project is the repository's word: its settings
// need trust, and its switches are a repository's.
func TestConfigDirInRepository(t *testing.T) {
	p := newPlaces(t)
	dir := filepath.Join(p.repo, "conf")
	write(t, filepath.Join(dir, "settings.json"), `{"disableAllHooks":true,"enabledPlugins":{"x@m":true},`+one("Stop", "theirs")[1:])
	write(t, filepath.Join(dir, "plugins", "installed_plugins.json"), fmt.Sprintf(`{"plugins":{"x@m":[{"scope":"user","installPath":%q}]}}`, filepath.Join(dir, "x")))
	write(t, filepath.Join(dir, "x", "hooks", "hooks.json"), one("Stop", "plugged"))
	p.opts.Extra = []string{write(t, filepath.Join(p.root, "named.json"), one("Stop", "named"))}
	t.Chdir(p.repo)
	usual := p.opts.Env
	for _, c := range []struct{ env, option string }{{env: dir}, {env: "conf"}, {env: "./x/../conf/"}, {option: dir}, {option: "conf"}} {
		p.opts.ConfigDir, p.opts.Env = c.option, usual
		if c.env != "" {
			p.opts.Env = usual.Set("CLAUDE_CONFIG_DIR", c.env)
		}
		files, problems := Discover(p.opts)
		if len(problems) != 1 || !strings.Contains(problems[0].Text, "CLAUDE_CONFIG_DIR leads into this project") {
			t.Errorf("%v", problems)
		}
		s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: files, Env: p.opts.Env, Home: p.home})}})
		var runs, held []string
		for _, h := range s.Handlers() {
			switch {
			case h.Type == hooks.SwitchType:
			case h.Why == "" && h.Trust.Runs():
				runs = append(runs, h.Command)
			default:
				held = append(held, h.Command)
			}
		}
		s.Close()
		if strings.Join(runs, " ") != "named" || strings.Join(held, " ") != "theirs plugged" {
			t.Errorf("run %v, held %v", runs, held)
		}
	}
	// The same directory when the project is another one.
	p.opts.Cwd = p.home
	if files, problems := Discover(p.opts); !strings.HasPrefix(commands(files), "user:theirs") || len(problems) > 0 {
		t.Errorf("%s %v", commands(files), problems)
	}
}

// CLAUDE_CODE_SIMPLE runs no hooks, as in the vendor's program.
func TestSimple(t *testing.T) {
	f, _ := parseFile("/f", hooks.LayerManaged, []byte(one("Stop", "x")))
	for value, off := range map[string]bool{"1": true, "true": true, "0": false, "": false} {
		d := New(Config{Files: []*File{f}, Env: hooks.Environ{"CLAUDE_CODE_SIMPLE=" + value}})
		if h := d.Handlers()[0]; (h.Why != "") != off {
			t.Errorf("%q: %q", value, h.Why)
		}
		d.Handlers()[0].Why = ""
	}
}

// A pattern that is widened by a repository does not send the person's secret.
func TestHTTPHeaderStaysInTheList(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("A") }))
	defer srv.Close()
	u, _ := parseFile("/u", hooks.LayerUser, []byte(`{"httpHookAllowedEnvVars":["ONE"],"hooks":{"Stop":[{"hooks":[{"type":"http","url":"`+srv.URL+`","headers":{"A":"[$ONE${TWO}]"},"allowedEnvVars":["ONE","TWO"]}]}]}}`))
	p, _ := parseFile("/p", hooks.LayerProject, []byte(`{"httpHookAllowedEnvVars":["TWO"]}`))
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: []*File{u, p}, Env: hooks.Environ{"ONE=1", "TWO=2"}})}})
	defer s.Close()
	s.Match(&hooks.Call{Event: hooks.Stop}).Run(t.Context())
	if got != "[1]" {
		t.Errorf("%q", got)
	}
}

// What an env block sets is set for the vendor's own variables and for headers, too;
// a repository's goes to its own hooks alone.
func TestEnvBlocksCountEverywhere(t *testing.T) {
	got := map[string]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got[r.URL.Path] = r.Header.Get("A") }))
	defer srv.Close()
	hook := func(path string) string {
		return `"hooks":{"Stop":[{"hooks":[{"type":"http","url":"` + srv.URL + path + `","headers":{"A":"$ONE $TWO"},"allowedEnvVars":["ONE","TWO"]}]}],
			"SessionEnd":[{"hooks":[{"type":"command","command":"x"}]}]}`
	}
	u, _ := parseFile("/u", hooks.LayerUser, []byte(`{"env":{"ONE":"mine","CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS":"4000"},`+hook("/u")+`}`))
	p, _ := parseFile("/p", hooks.LayerProject, []byte(`{"env":{"TWO":"theirs","CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS":"9000"},`+hook("/p")+`}`))
	d := New(Config{Files: []*File{u, p}, Env: hooks.Environ{"ONE=1", "TWO=2"}})
	for _, h := range d.Handlers() {
		h.Trust = hooks.TrustTrusted
		if h.Event == hooks.SessionEnd && h.Timeout != 4*time.Second {
			t.Errorf("%s: %v", h.Place.File, h.Timeout)
		}
	}
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	defer s.Close()
	s.Match(&hooks.Call{Event: hooks.Stop}).Run(t.Context())
	if got["/u"] != "mine 2" || got["/p"] != "mine theirs" {
		t.Errorf("%q", got)
	}
}
