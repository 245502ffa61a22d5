package permission

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// commandPattern is what a rule about commands holds:
//
//	git status     that command, exactly
//	go test:*      the command and whatever follows, at a word's end
//	git *          the same
//	git * main     * is any text
//
// A backslash before * or another backslash takes its meaning away.
type commandPattern struct {
	// parts are the texts between the stars.
	parts []string
	// prefix: the last star stands after a word, and may stand for nothing.
	prefix bool
}

func newCommandPattern(arg string) commandPattern {
	var p commandPattern
	var part strings.Builder
	if a, ok := strings.CutSuffix(arg, ":*"); ok && !strings.HasSuffix(a, `\`) {
		arg = a + " *"
	}
	for i := 0; i < len(arg); i++ {
		switch c := arg[i]; {
		case c == '\\' && i+1 < len(arg) && (arg[i+1] == '*' || arg[i+1] == '\\'):
			i++
			part.WriteByte(arg[i])
		case c == '*':
			p.parts = append(p.parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	p.parts = append(p.parts, part.String())
	if n := len(p.parts); n > 1 && p.parts[n-1] == "" && strings.HasSuffix(p.parts[n-2], " ") {
		p.prefix = true
	}
	return p
}

// escapePattern is the text of a pattern that matches s alone.
func escapePattern(s string) string { return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(s) }

// exact: there is no star.
func (p commandPattern) exact() bool { return len(p.parts) == 1 }

func (p commandPattern) match(s string) bool {
	if p.exact() {
		return s == p.parts[0]
	}
	if p.prefix && matchParts(append(slices.Clone(p.parts[:len(p.parts)-2]), strings.TrimSuffix(p.parts[len(p.parts)-2], " ")), s) {
		return true
	}
	return matchParts(p.parts, s)
}

// matchParts matches texts with anything between them.
func matchParts(parts []string, s string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return s == first
	}
	if !strings.HasPrefix(s, first) || len(s) < len(first)+len(last) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

// script is a command line, taken apart.
type script struct {
	source string
	// plain: it is nothing but simple commands of literal words, joined by ;, a
	// line break, &&, || or |, with no assignment and no redirection but to
	// /dev/null and between descriptors. Only such a line can be covered by
	// patterns; anything else could do more than its words say.
	plain bool
	// commands are the simple commands of a plain line, in order.
	commands []simple
	// all are the texts of every simple command anywhere in the line, also inside
	// substitutions, functions, sh -c and behind sudo and the like, in each
	// spelling that a rule may mean.
	all []string
	// spent counts the bytes of all; over maxSpent the line is too involved to be
	// looked through, and tangled.
	spent   int
	tangled bool
}

// simple is a simple command.
type simple struct {
	words []string
	// text is the words with one space between them, quoted where they need it;
	// source is as it was written.
	text, source string
}

const (
	maxNested  = 4       // sh -c inside sh -c …
	maxOptions = 64      // words before the command that sudo and the like run
	maxSpent   = 4 << 20 // bytes of all spellings
)

func newScript(source string) script {
	s := script{source: strings.TrimSpace(source)}
	s.scan(source, 0)
	return s
}

func (s *script) scan(source string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		// bash may still run a part of it. Look at whatever could be a command.
		for _, piece := range strings.FieldsFunc(source, func(r rune) bool { return strings.ContainsRune(";&|\n(){}`$", r) }) {
			s.spellings(strings.Fields(piece), strings.TrimSpace(piece), depth)
		}
		return
	}
	if depth == 0 {
		s.plain = len(file.Stmts) > 0
		for _, st := range file.Stmts {
			s.plain = s.plain && s.flat(st, source)
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			words := make([]string, len(call.Args))
			for i, w := range call.Args {
				words[i], _ = literal(w, source)
			}
			s.spellings(words, cut(source, call.Args[0].Pos(), call.End()), depth)
		}
		return true
	})
}

func cut(source string, from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a > b || b > len(source) {
		return ""
	}
	return source[a:b]
}

// flat collects the simple commands of a statement and reports whether there is
// nothing else in it.
func (s *script) flat(st *syntax.Stmt, source string) bool {
	if st.Background || st.Coprocess || st.Disown {
		return false
	}
	for _, r := range st.Redirs {
		if !harmless(r) {
			return false
		}
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return len(st.Redirs) == 0 && s.flat(cmd.X, source) && s.flat(cmd.Y, source)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return false
		}
		c := simple{source: cut(source, cmd.Pos(), cmd.End())}
		quoted := make([]string, len(cmd.Args))
		for i, w := range cmd.Args {
			text, ok := literal(w, source)
			if !ok {
				return false
			}
			c.words = append(c.words, text)
			quoted[i] = quote(text)
		}
		c.text = strings.Join(quoted, " ")
		s.commands = append(s.commands, c)
		return true
	}
	return false
}

// harmless: the redirection writes no file and reads none.
func harmless(r *syntax.Redirect) bool {
	if r.Word == nil || r.Hdoc != nil {
		return false
	}
	word := r.Word.Lit()
	switch r.Op {
	case syntax.DplOut:
		return word != "" && strings.Trim(word, "0123456789-") == ""
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.RdrIn:
		return word == "/dev/null"
	}
	return false
}

// literal returns what a word is when bash has read it. ok is false when that
// depends on anything but the word; the text is then as it was written.
func literal(w *syntax.Word, source string) (text string, ok bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return cut(source, w.Pos(), w.End()), false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				lit, isLit := in.(*syntax.Lit)
				if !isLit || p.Dollar {
					return cut(source, w.Pos(), w.End()), false
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			return cut(source, w.Pos(), w.End()), false
		}
	}
	return b.String(), true
}

// unescape removes the backslashes before any character, or before those only.
func unescape(s, only string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// quote makes a word that cannot be taken for two.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// runners run the command that their arguments hold.
var runners = map[string]bool{
	"sudo": true, "doas": true, "env": true, "nohup": true, "nice": true, "ionice": true, "time": true, "command": true,
	"builtin": true, "exec": true, "xargs": true, "timeout": true, "stdbuf": true, "setsid": true, "busybox": true, "chroot": true,
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "eval": true}

// spellings adds a simple command to all, in every form that a rule may mean.
func (s *script) spellings(words []string, source string, depth int) {
	if len(words) == 0 || words[0] == "" || s.tangled {
		return
	}
	program := path.Base(words[0])
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	s.all = append(s.all, strings.Join(quoted, " "), strings.Join(words, " "), source)
	if program != words[0] {
		s.all = append(s.all, strings.Join(append([]string{program}, words[1:]...), " "))
	}
	s.spent += 4*len(source) + 64
	s.tangled = s.spent > maxSpent+8*len(s.source)
	if depth >= maxNested {
		return
	}
	switch {
	case runners[program]:
		// Which argument is the command depends on the options, and it may run
		// another one. Each may be; those far on are arguments of an earlier one.
		for i := 1; i < min(len(words), maxOptions); i++ {
			if !runners[path.Base(words[i])] { // its arguments are among these
				s.spellings(words[i:], strings.Join(words[i:], " "), depth+1)
			}
		}
	case program == "find":
		for i, w := range words[:min(len(words), 2*maxOptions)-1] {
			if strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") {
				s.spellings(words[i+1:], strings.Join(words[i+1:], " "), depth+1)
			}
		}
	case program == "eval":
		s.scan(strings.Join(words[1:], " "), depth+1)
	case shells[program]:
		for i, w := range words[:min(len(words), maxOptions)-1] {
			if i > 0 && strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c") {
				s.scan(words[i+1], depth+1)
			}
		}
	}
}

// touches reports whether any part of the line is what the pattern means. A line
// that could not be looked through may hold anything.
func (s *script) touches(p commandPattern) bool {
	return s.tangled || p.match(s.source) || slices.ContainsFunc(s.all, p.match)
}

// covered returns the first of the rules that together cover every command of
// the line. A line that is exactly what a rule says is covered whatever is in it.
func (s *script) covered(rules []rule) (string, bool) {
	for _, r := range rules {
		if r.command.exact() && r.command.match(s.source) {
			return r.text, true
		}
	}
	if !s.plain {
		return "", false
	}
	first := ""
	for _, c := range s.commands {
		i := slices.IndexFunc(rules, func(r rule) bool {
			return r.command.match(c.text) || r.command.exact() && r.command.match(c.source)
		})
		if i < 0 {
			return "", false
		}
		if first == "" {
			first = rules[i].text
		}
	}
	return first, first != ""
}
