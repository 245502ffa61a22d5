package permission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustRules(t testing.TB, allow, ask, deny []string) *Rules {
	t.Helper()
	r, err := NewRules("/home/me", allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func input(pairs ...string) json.RawMessage {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func bash(command string) Call {
	return Call{Name: "bash", Input: input("command", command), Cwd: "/w"}
}

func file(name, path string) Call {
	return Call{Name: name, Input: input("file_path", path), Cwd: "/w", ReadOnly: name == "read"}
}

// The order in which rules, modes and remembered answers decide: every pair of
// neighbours.
func TestOrder(t *testing.T) {
	list := []string{"bash"}
	hinted := Call{Name: "mcp__x__y", Hinted: true}
	for _, tt := range []struct {
		name             string
		mode             string
		allow, ask, deny []string
		call             Call
		want             Decision
		explicit         bool
	}{
		{"default asks", ModeDefault, nil, nil, nil, bash("ls"), Ask, false},
		{"read-only needs nothing", ModeDefault, nil, nil, nil, file("read", "a"), Allow, false},
		{"read-only in plan mode", ModePlan, nil, nil, nil, file("read", "a"), Allow, false},
		{"deny beats allow and ask", ModeDefault, list, list, list, bash("ls"), Deny, true},
		{"deny beats bypass", ModeBypass, nil, nil, list, bash("ls"), Deny, true},
		{"deny holds for read-only", ModeDefault, nil, nil, []string{"Read(.env)"}, file("read", ".env"), Deny, true},
		{"plan beats ask", ModePlan, nil, list, nil, bash("ls"), Deny, false},
		{"plan beats allow", ModePlan, list, nil, nil, bash("ls"), Deny, false},
		{"ask beats allow", ModeDefault, list, list, nil, bash("ls"), Ask, true},
		{"ask beats bypass", ModeBypass, nil, list, nil, bash("ls"), Ask, true},
		{"ask holds for read-only", ModeDefault, nil, []string{"read"}, nil, file("read", "a"), Ask, true},
		{"allow beats the default", ModeDefault, list, nil, nil, bash("ls"), Allow, false},
		{"bypass", ModeBypass, nil, nil, nil, bash("ls"), Allow, false},
		{"acceptEdits edits", ModeAcceptEdits, nil, nil, nil, file("edit", "a"), Allow, false},
		{"acceptEdits writes", ModeAcceptEdits, nil, nil, nil, file("write", "a"), Allow, false},
		{"acceptEdits does not run", ModeAcceptEdits, nil, nil, nil, bash("ls"), Ask, false},
		{"acceptEdits asks about hooks", ModeAcceptEdits, nil, nil, nil, file("write", ".git/hooks/pre-commit"), Ask, false},
		{"acceptEdits asks about an agent's", ModeAcceptEdits, nil, nil, nil, file("write", ".claude/settings.json"), Ask, false},
		{"acceptEdits asks below a directory", ModeAcceptEdits, nil, nil, nil, file("edit", "sub/.Codex/config.toml"), Ask, false},
		{"acceptEdits edits what is called alike", ModeAcceptEdits, nil, nil, nil, file("edit", "a.claude/.codexrc"), Allow, false},
		{"acceptEdits asks by rule no more", ModeAcceptEdits, []string{"Edit(.claude/**)"}, nil, nil, file("edit", ".claude/a"), Allow, false},
		{"what a server says is read-only asks", ModeDefault, nil, nil, nil, hinted, Ask, false},
		{"it asks where edits are accepted", ModeAcceptEdits, nil, nil, nil, hinted, Ask, false},
		{"it asks in plan mode", ModePlan, nil, nil, nil, hinted, Ask, false},
		{"it runs where nothing is asked", ModeBypass, nil, nil, nil, hinted, Allow, false},
		{"an allow rule lets it run", ModeDefault, []string{"mcp__x__*"}, nil, nil, hinted, Allow, false},
		{"an allow rule lets it run in plan mode", ModePlan, []string{"mcp__x__*"}, nil, nil, hinted, Allow, false},
		{"a deny rule holds for it in plan mode", ModePlan, []string{"mcp__x__*"}, nil, []string{"mcp__x__y"}, hinted, Deny, true},
		{"an unknown mode asks", "yolo", nil, nil, nil, bash("ls"), Ask, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := mustRules(t, tt.allow, tt.ask, tt.deny).Decide(tt.mode, tt.call)
			if v.Decision != tt.want || v.Explicit != tt.explicit {
				t.Errorf("got %+v, want %s", v, tt.want)
			}
			if v.Decision == Deny && v.Reason == "" {
				t.Error("a denial without a reason")
			}
		})
	}
}

// What was named as hooks or config is asked about where edits are accepted,
// whatever link leads to it.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	named := link
	if err := os.Symlink(real, link); err != nil {
		named = real
	}
	r := mustRules(t, nil, nil, nil)
	r.Guard("", filepath.Join(dir, "plugin"), named)
	for name, want := range map[string]Decision{
		"real.json": Ask, filepath.Base(named): Ask, "plugin/hooks/hooks.json": Ask, "plugin": Ask, "plugins": Allow, "other.json": Allow, "sub/real.json": Allow,
	} {
		c := file("write", filepath.Join(dir, filepath.FromSlash(name)))
		if got := r.Decide(ModeAcceptEdits, c); got.Decision != want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := r.Decide(ModeBypass, c); got.Decision != Allow {
			t.Errorf("%s, where nothing is asked: %+v", name, got)
		}
	}
}

// It counts where a name leads when the call is made: a link may have been made
// since, and a file behind one may not be there yet.
func TestGuardBehindLinks(t *testing.T) {
	dir := t.TempDir()
	home, dotfiles := filepath.Join(dir, "home"), filepath.Join(dir, "dotfiles")
	for _, d := range []string{home, filepath.Join(dotfiles, "config")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := mustRules(t, nil, nil, nil)
	r.Guard(filepath.Join(home, "config", "agent", "hooks.json"))
	there := file("write", filepath.Join(dotfiles, "config", "agent", "hooks.json"))
	if got := r.Decide(ModeAcceptEdits, there); got.Decision != Allow {
		t.Errorf("before there is a link: %+v", got)
	}
	if err := os.Symlink(filepath.Join(dotfiles, "config"), filepath.Join(home, "config")); err != nil {
		t.Skip("links cannot be made here: ", err)
	}
	if got := r.Decide(ModeAcceptEdits, there); got.Decision != Ask {
		t.Errorf("behind the link: %+v", got)
	}
	other := file("write", filepath.Join(dotfiles, "config", "agent", "other.json"))
	if got := r.Decide(ModeAcceptEdits, other); got.Decision != Allow {
		t.Errorf("beside it: %+v", got)
	}
}

// Case F3: "always" covers the kind of command, and no more.
func TestF3AlwaysScope(t *testing.T) {
	r := mustRules(t, nil, nil, nil)
	s := r.Suggest(bash("go test ./a"))
	if s.Rule != "bash(go test:*)" || s.Label != "commands that start with go test" {
		t.Fatalf("suggestion %+v", s)
	}
	r.Allow(s.Rule)
	for _, tt := range []struct {
		command string
		want    Decision
	}{
		{"go test ./a", Allow},
		{"go test ./b", Allow},
		{"go test", Allow},
		{"go  test   ./b", Allow},
		{"go test ./a && go test ./b", Allow},
		{"go test ./a; go test ./b", Allow},
		{"go test ./a\ngo test ./b", Allow},
		{"go test ./a | go test ./b", Allow},
		{"! go test ./a", Allow},
		{"go test ./a 2>&1", Allow},
		{"go test ./a >/dev/null 2>&1", Allow},
		{"go test 'a b'", Allow},
		{`go test "a b"`, Allow},
		{"go vet", Ask},
		{"go tests", Ask},
		{"go", Ask},
		{"test", Ask},
		{"go test ./a; rm x", Ask},
		{"go test ./a && rm x", Ask},
		{"go test ./a || rm x", Ask},
		{"go test ./a | tee x", Ask},
		{"go test ./a & rm x", Ask},
		{"go test ./a &", Ask},
		{"go test ./a\nrm x", Ask},
		{"go test $(rm x)", Ask},
		{"go test `rm x`", Ask},
		{`go test "$(rm x)"`, Ask},
		{"go test <(rm x)", Ask},
		{"go test $X", Ask},
		{"go test $((1+1))", Ask},
		{"go test > x", Ask},
		{"go test >> x", Ask},
		{"go test &> x", Ask},
		{"go test < x", Ask},
		{"go test >&x", Ask},
		{"go test <<E\nE", Ask},
		{"go test <<< x", Ask},
		{"go test >| x", Ask},
		{"PATH=/evil go test", Ask},
		{"go() { rm x; }; go test", Ask},
		{"(go test)", Ask},
		{"if go test; then rm x; fi", Ask},
		{"while :; do go test; done", Ask},
		{"'go test' ./a", Ask},
		{"go 'test ./a'", Ask},
		{"go $'test' ./a", Ask},
		{"./go test", Ask},
		{"/tmp/go test", Ask},
		{"go test 'unclosed", Ask},
		{"sudo go test", Ask},
		{"time go test", Ask},
		{"", Ask},
	} {
		if v := r.Decide(ModeDefault, bash(tt.command)); v.Decision != tt.want {
			t.Errorf("%q: %+v, want %s", tt.command, v, tt.want)
		}
	}
}

// Case F4: a later deny beats what is remembered.
func TestF4DenyBeatsMemory(t *testing.T) {
	r := mustRules(t, nil, nil, []string{"Bash(git push:*)"})
	r.Allow("bash")
	if v := r.Decide(ModeBypass, bash("git push")); v.Decision != Deny || v.Rule != "Bash(git push:*)" {
		t.Errorf("got %+v", v)
	}
	if v := r.Decide(ModeDefault, bash("git pull")); v.Decision != Allow || v.Rule != "bash" {
		t.Errorf("got %+v", v)
	}
	r.Reject("bash")
	if v := r.Decide(ModeDefault, bash("git pull")); v.Decision != Deny {
		t.Errorf("got %+v", v)
	}
}

// Case F5: nothing but a mode or a rule skips the question.
func TestF5DefaultAsks(t *testing.T) {
	r := mustRules(t, nil, nil, nil)
	for _, c := range []Call{bash("ls"), bash("echo hi"), file("write", "/w/a"), file("edit", "/w/a"), file("write", "/elsewhere"), {Name: "mcp__x__y"}, {Name: "nothing"}} {
		if v := r.Decide(ModeDefault, c); v.Decision != Ask {
			t.Errorf("%s: %+v", c.Name, v)
		}
	}
}

// Case J5: plan mode is enforced, with a reason.
func TestJ5PlanMode(t *testing.T) {
	r := mustRules(t, []string{"bash", "write", "edit", "mcp__*"}, nil, nil)
	for _, c := range []Call{bash("ls"), file("write", "a"), file("edit", "a"), {Name: "mcp__x__y"}} {
		if v := r.Decide(ModePlan, c); v.Decision != Deny || !strings.Contains(v.Reason, "plan mode") {
			t.Errorf("%s: %+v", c.Name, v)
		}
	}
}

// What denies is found wherever in a line it stands.
func TestDenyFindsCommands(t *testing.T) {
	r := mustRules(t, []string{"bash"}, nil, []string{"Bash(rm:*)", "Bash(curl *)", "Bash(git push)", "Bash(* --force)"})
	for _, tt := range []struct {
		command string
		want    Decision
	}{
		{"rm x", Deny},
		{"rm", Deny},
		{"ls; rm x", Deny},
		{"ls && (cd a; rm x)", Deny},
		{"echo $(rm x)", Deny},
		{"echo `rm x`", Deny},
		{"if true; then rm x; fi", Deny},
		{"f() { rm x; }; f", Deny},
		{"A=b rm x", Deny},
		{"rm x > y", Deny},
		{"! rm x", Deny},
		{"rm x &", Deny},
		{`\rm x`, Deny},
		{`r""m x`, Deny},
		{"'rm' x", Deny},
		{"/bin/rm x", Deny},
		{"sudo rm x", Deny},
		{"sudo -u bob rm x", Deny},
		{"env A=b rm x", Deny},
		{"timeout 5 rm x", Deny},
		{"ls | xargs rm", Deny},
		{"bash -c 'rm x'", Deny},
		{`sh -ec "ls; rm x"`, Deny},
		{"eval rm x", Deny},
		{"find . -name a -exec rm {} \\;", Deny},
		{"bash -c 'bash -c \"rm x\"'", Deny},
		{"cat <<E\n$(rm x)\nE", Deny},
		{"rm 'unclosed", Deny},
		{"ls; rm x; echo 'unclosed", Deny},
		{"curl", Deny},
		{"curl -s x | sh", Deny},
		{"git push", Deny},
		{"git push origin", Allow},
		{"git push --force", Deny},
		{"mycmd a --force", Deny},
		{"rmdir x", Allow},
		{"echo rm", Allow},
		{"echo 'a; rm x'", Allow},
		{"ls rm", Allow},
		{"curly", Allow},
	} {
		if v := r.Decide(ModeDefault, bash(tt.command)); v.Decision != tt.want {
			t.Errorf("%q: %+v, want %s", tt.command, v, tt.want)
		}
	}
}

// A long line is looked through in a bounded time; one that is too involved for
// that counts as denied.
func TestDenyOfLongLines(t *testing.T) {
	r := mustRules(t, []string{"bash"}, nil, []string{"Bash(rm:*)"})
	for _, tt := range []struct {
		command string
		want    Decision
	}{
		{strings.Repeat("sudo ", 5_000) + "ls", Allow},
		{strings.Repeat("a;", 10_000), Allow},
		{strings.Repeat("eval ", 5_000), Allow},
		{"echo " + strings.Repeat("word ", 50_000), Allow},
		{strings.Repeat("$(", 500), Allow},
		{strings.Repeat("bash -c ", 5_000), Allow},
		{strings.Repeat("find -exec ", 5_000), Deny},
		{strings.Repeat("xargs find -exec bash -c ", 500), Deny},
	} {
		if v := r.Decide(ModeDefault, bash(tt.command)); v.Decision != tt.want {
			t.Errorf("%.30q: %+v", tt.command, v)
		}
	}
}

func TestAllowByWildcards(t *testing.T) {
	r := mustRules(t, []string{"Bash(git * main)", "Bash(npm run build)", "Bash(ls*)", "Bash(make *)"}, nil, nil)
	for _, tt := range []struct {
		command string
		want    Decision
	}{
		{"git checkout main", Allow},
		{"git push origin main", Allow},
		{"git main", Ask},
		{"git checkout dev", Ask},
		{"npm run build", Allow},
		{"npm run build --x", Ask},
		{"npm run build && npm run build", Allow},
		{"npm run build && ls -l", Allow},
		{"ls", Allow},
		{"lsof", Allow},
		{"make", Allow},
		{"make a", Allow},
		{"makex", Ask},
		{"git checkout x; echo main", Ask},
	} {
		if v := r.Decide(ModeDefault, bash(tt.command)); v.Decision != tt.want {
			t.Errorf("%q: %+v, want %s", tt.command, v, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		rule, tool string
		want       bool
	}{
		{"Bash", "bash", true},
		{"bash", "bash", true},
		{"Bash(*)", "bash", true},
		{"Bash()", "bash", true},
		{"Bash", "read", false},
		{"Edit", "edit", true},
		{"Edit", "write", true},
		{"edit", "write", false},
		{"Write", "edit", false},
		{"MultiEdit", "edit", true},
		{"Read", "read", true},
		{"Read", "grep", true},
		{"Read", "glob", true},
		{"read", "grep", false},
		{"TodoWrite", "todo_write", true},
		{"mcp__git__status", "mcp__git__status", true},
		{"mcp__git__status", "mcp__git__log", false},
		{"mcp__git__*", "mcp__git__log", true},
		{"mcp__git", "mcp__git__log", true},
		{"mcp__git", "mcp__github__log", false},
		{"mcp__*", "mcp__a__b", true},
		{"*", "anything", true},
		{"WebFetch", "web_fetch", true},
		{"my_tool", "my_tool", true},
	} {
		r := mustRules(t, []string{tt.rule}, nil, nil)
		if got := r.Decide(ModeDefault, Call{Name: tt.tool, Cwd: "/w"}).Decision == Allow; got != tt.want {
			t.Errorf("%s, %s: %v", tt.rule, tt.tool, got)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct {
		rule, path string
		want       bool
	}{
		{"Edit(src/**)", "src/a/b.go", true},
		{"Edit(src/**)", "/w/src/a", true},
		{"Edit(src/**)", "/w/lib/../src/a", true},
		{"Edit(src/**)", "src/../a", false},
		{"Edit(src/**)", "/x/src/a", false},
		{"Edit(./src)", "src/a", true},
		{"Edit(/src/**)", "src/a", true},
		{"Edit(src/)", "a/src/b", true},
		{"Edit(*.md)", "a/b.md", true},
		{"Edit(*.md)", "/x/b.md", true},
		{"Edit(*.md)", "b.mdx", false},
		{"Edit(docs/*.md)", "docs/a.md", true},
		{"Edit(docs/*.md)", "docs/a/b.md", false},
		{"Edit(//etc/**)", "/etc/hosts", true},
		{"Edit(//etc/**)", "etc/hosts", false},
		{"Edit(~/notes/**)", "/home/me/notes/a", true},
		{"Edit(~/notes/**)", "/home/you/notes/a", false},
		{"Edit(**)", "a", true},
		{"Edit(**/test/*.go)", "a/b/test/x.go", true},
		{"Edit({a,b}/**)", "b/x", true},
	} {
		for _, list := range []string{"allow", "deny"} {
			allow, deny := []string{tt.rule}, []string(nil)
			want := Allow
			if list == "deny" {
				allow, deny, want = nil, allow, Deny
			}
			if v := mustRules(t, allow, nil, deny).Decide(ModeDefault, file("edit", tt.path)); (v.Decision == want) != tt.want {
				t.Errorf("%s %s, %s: %+v", list, tt.rule, tt.path, v)
			}
		}
	}
	// Where a link leads counts too: one bad path denies, all must be allowed.
	c := file("edit", "src/link")
	c.Paths = []string{"/w/secret/x"}
	if v := mustRules(t, nil, nil, []string{"Edit(secret/**)"}).Decide(ModeDefault, c); v.Decision != Deny {
		t.Errorf("got %+v", v)
	}
	if v := mustRules(t, []string{"Edit(src/**)"}, nil, nil).Decide(ModeDefault, c); v.Decision != Ask {
		t.Errorf("got %+v", v)
	}
	// A search without a path is one of the working directory.
	if v := mustRules(t, nil, nil, []string{"Read(//w/**)"}).Decide(ModeDefault, Call{Name: "grep", Input: input("pattern", "x"), Cwd: "/w", ReadOnly: true}); v.Decision != Deny {
		t.Errorf("got %+v", v)
	}
	// Arguments that cannot be read allow nothing.
	if v := mustRules(t, []string{"Edit(**)"}, nil, nil).Decide(ModeDefault, Call{Name: "edit", Input: json.RawMessage(`{"file_path":7}`), Cwd: "/w"}); v.Decision != Ask {
		t.Errorf("got %+v", v)
	}
}

func TestDomains(t *testing.T) {
	r := mustRules(t, []string{"WebFetch(domain:example.com)"}, nil, nil)
	for u, want := range map[string]Decision{
		"https://example.com/x": Allow, "https://a.Example.com": Allow, "https://example.com.:8443/": Allow, "https://notexample.com": Ask, "https://example.com.evil.org": Ask,
		"https://evil.org/example.com": Ask, "https://example.com@evil.org": Ask, "": Ask, "::": Ask,
	} {
		if v := r.Decide(ModeDefault, Call{Name: "web_fetch", Input: input("url", u)}); v.Decision != want {
			t.Errorf("%s: %+v", u, v)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, rule := range []string{"", "(x)", "Bash(x", "Ba sh", "Bash)x(", "Edit([)", "TodoWrite(x)", "Read(~/x)", "mcp__a__b(x)", "*(x)", "WebFetch(x)"} {
		if _, err := NewRules("", nil, nil, []string{"bash", rule}); err == nil || !strings.Contains(err.Error(), "deny rule") {
			t.Errorf("%q: %v", rule, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	r := mustRules(t, nil, nil, nil)
	for _, tt := range []struct{ command, rule string }{
		{"go test ./a", "bash(go test:*)"},
		{"go test ./a && go test ./b 2>&1", "bash(go test:*)"},
		{"go vet ./... && go test ./...", "bash(go vet ./... && go test ./...)"},
		{"git commit -m 'x y'", "bash(git commit:*)"},
		{"git -C x commit", "bash(git -C x commit)"},
		{"ls -l", "bash(ls:*)"},
		{"npm run lint -- --fix", "bash(npm run lint:*)"},
		{"npm run", "bash(npm run)"},
		{"rm -rf *", `bash(rm -rf \*)`},
		{"python3 x.py", "bash(python3 x.py)"},
		{"go run .", "bash(go run .)"},
		{"sudo ls", "bash(sudo ls)"},
		{"echo $(date)", "bash(echo $(date))"},
		{"ls > x", "bash(ls > x)"},
		{"PATH=x ls", "bash(PATH=x ls)"},
		{"cat 'unclosed", "bash(cat 'unclosed)"},
	} {
		s := r.Suggest(bash(tt.command))
		if s.Rule != tt.rule || s.Deny != tt.rule || s.Label == "" || s.DenyLabel == "" {
			t.Errorf("%q: %+v", tt.command, s)
		}
	}
	if s := r.Suggest(Call{Name: "web_fetch", Input: input("url", "https://Docs.Example.com:8443/a")}); s.Rule != "web_fetch(domain:docs.example.com)" || s.Label != "pages of docs.example.com" {
		t.Errorf("%+v", s)
	}
	if s := r.Suggest(Call{Name: "web_fetch", Input: input("url", "::")}); s.Rule != "web_fetch" {
		t.Errorf("%+v", s)
	}
	if s := r.Suggest(file("write", "a")); s.Rule != "write" || s.Label != "all calls of write" {
		t.Errorf("%+v", s)
	}
}

func TestUpdate(t *testing.T) {
	r := mustRules(t, nil, nil, nil)
	do := func(u string) {
		t.Helper()
		if err := r.Update(json.RawMessage(u)); err != nil {
			t.Error(err)
		}
	}
	want := func(d Decision) {
		t.Helper()
		if v := r.Decide(ModeDefault, bash("npm test")); v.Decision != d {
			t.Errorf("got %+v, want %s", v, d)
		}
	}
	do(`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test:*"}],"behavior":"allow","destination":"session"}`)
	want(Allow)
	do(`{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"deny","destination":"session"}`)
	want(Deny)
	do(`{"type":"removeRules","rules":[{"toolName":"Bash"}],"behavior":"deny"}`)
	want(Allow)
	do(`{"type":"replaceRules","rules":[],"behavior":"allow"}`)
	want(Ask)
	do(`{"type":"setMode","mode":"acceptEdits"}`)
	do(`{"type":"of the future"}`)
	if r.Update(json.RawMessage(`{"type":"addRules","behavior":"allow","rules":[{"toolName":"(("}]}`)) == nil || r.Update(json.RawMessage(`{`)) == nil {
		t.Error("a bad update is accepted")
	}
	want(Ask)
}

// FuzzRule: no text breaks the parser, and a rule that parses can be applied.
func FuzzRule(f *testing.F) {
	for _, s := range []string{"Bash(git *)", "Bash(a:*)", "Edit(src/**)", "Read(//x/[a-z]*)", "mcp__a__*", `Bash(a\*\\)`, "WebFetch(domain:x)", "Edit({a,{b,c}}/**)"} {
		f.Add(s, "git status; rm -rf $(x)", "src/a")
	}
	f.Fuzz(func(t *testing.T, rule, command, path string) {
		r, err := NewRules("", []string{rule}, nil, nil)
		if err != nil {
			return
		}
		r.Reject(rule)
		for _, c := range []Call{bash(command), file("edit", path), file("read", path), {Name: "web_fetch", Input: input("url", path)}} {
			if v := r.Decide(ModeDefault, c); v.Decision == Allow && v.Rule != "" {
				t.Errorf("%s: an allow rule beat the same deny rule %q", c.Name, rule)
			}
		}
	})
}

// FuzzCommand: what is suggested covers the command that it was suggested for;
// what a prefix allows consists of commands with that prefix, as the other, more
// suspicious reading of the line sees it too; and one more command is too many.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"go test ./a", "go test; rm x", "go test $(rm)", "go test 'a' && go test \"b\"", "ls | grep x", "a\\\nb", "go test >/dev/null 2>&1", "go test # x", "go test {a,b}", "`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if strings.TrimSpace(command) == "" || !json.Valid(input("command", command)) || strings.ToValidUTF8(command, "") != command {
			return
		}
		r := mustRules(t, nil, nil, nil)
		s := r.Suggest(bash(command))
		r.Allow(s.Rule)
		if v := r.Decide(ModeDefault, bash(command)); v.Decision != Allow {
			t.Fatalf("%q: the suggestion %q does not cover it", command, s.Rule)
		}
		if v := r.Decide(ModeDefault, bash("rm -rf /; "+command)); v.Decision == Allow {
			t.Errorf("%q: %q covers more", command, s.Rule)
		}
		p := mustRules(t, []string{"Bash(go test:*)"}, nil, nil)
		if p.Decide(ModeDefault, bash(command)).Decision == Allow {
			sc := newScript(command)
			bare := strings.NewReplacer("'", "", `"`, "", `\`, "")
			for _, text := range sc.all {
				if f := strings.Fields(bare.Replace(text)); len(f) > 0 && f[0] != "go" {
					t.Errorf("%q is allowed, but runs %q", command, text)
				}
			}
		}
	})
}
