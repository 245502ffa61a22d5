package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// got is what one run produced.
type got struct {
	// frames are the agent's, as they came; files the normalised expectations.
	frames []record
	files  map[string][]byte
	// logs are the raw session logs, in the order of asked.
	logs  [][]byte
	after tree
	calls map[int]call
	// unasked counts the permission answers that nobody asked for.
	unasked int
	exit    int
}

// fileNames returns the names in any of the maps, sorted.
func fileNames(maps_ ...map[string][]byte) []string {
	all := map[string]bool{}
	for _, m := range maps_ {
		for name := range m {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// observe runs a scenario once and collects all that it did. Broken rules go to
// res; nil is returned when the run did not come to its end.
func (r *runner) observe(ctx context.Context, s *Scenario, res *Result) *got {
	exe := ""
	if len(r.o.Agent) == 1 {
		exe = r.o.Agent[0]
	}
	p, err := newPlace(s.Dir, exe)
	defer p.remove()
	if err != nil {
		res.Err = err
		return nil
	}
	before, err := readTree(p.cwd)
	if err != nil {
		res.Err = err
		return nil
	}
	pr, err := r.start(ctx, s, p)
	if err != nil {
		res.Err = err
		return nil
	}
	d := &driver{c: pr.c, in: s.Input, place: p, refs: map[string]string{}, seen: map[string]int{}, lenient: r.o.Foreign || s.Reference, reference: s.Reference}
	if s.Reference {
		if d.c.recorded, err = recordedAnswers(s.expected[logFile]); err != nil {
			res.Err = err
		}
	}
	res.Err = errors.Join(res.Err, d.play(ctx))
	res.Notes = append(res.Notes, d.notes...)
	g := &got{files: map[string][]byte{}}
	exit, err := pr.finish()
	res.Err = errors.Join(res.Err, err)
	res.Stderr = pr.stderr.String()
	g.exit = exit
	if err == nil {
		res.Faults = append(res.Faults, checkExit(s.Input, exit, res.Stderr)...)
	}
	pr.c.mu.Lock()
	g.frames, g.calls = pr.c.frames, pr.c.calls
	res.Faults = append(res.Faults, pr.c.problems...)
	g.unasked = len(pr.c.answers)
	if g.unasked > 0 && res.Err == nil && !s.Reference {
		res.Faults = append(res.Faults, unasked(g.unasked, s.Input))
	}
	if left := len(pr.c.elicits); left > 0 && res.Err == nil {
		res.Faults = append(res.Faults, fmt.Sprintf("the agent never asked for %d of the %d elicitationAnswers", left, len(s.Input.ElicitationAnswers)))
	}
	pr.c.mu.Unlock()
	if err := r.collect(s, p, d.sessions, before, g, res); err != nil {
		res.Err = errors.Join(res.Err, err)
	}
	return g
}

func unasked(left int, in *Input) string {
	return fmt.Sprintf("the agent never asked for %d of the %d permissionAnswers", left, len(in.PermissionAnswers))
}

func checkExit(in *Input, exit int, stderr string) []string {
	var faults []string
	if exit != in.Exit {
		faults = append(faults, fmt.Sprintf("the agent ended with status %d, not %d", exit, in.Exit))
	}
	if in.Stderr != "" && !strings.Contains(stderr, in.Stderr) {
		faults = append(faults, fmt.Sprintf("the agent's stderr does not say %q", in.Stderr))
	}
	return faults
}

// collect reads what the run left behind, checks the rules and normalises it.
func (r *runner) collect(s *Scenario, p place, sessions []string, before tree, g *got, res *Result) error {
	var err error
	if g.after, err = readTree(p.cwd); err != nil {
		return err
	}
	raw, err := os.ReadFile(p.requests)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the model's requests: %w", err)
	}
	requests, err := parseLines("the requests file", raw)
	if err != nil {
		return err
	}
	if g.logs, err = readLogs(p.state, asked(requests, sessions)); err != nil {
		return err
	}
	if !r.o.Foreign {
		r.checkRules(s, requests, g, res)
	}
	n := newNormaliser(p)
	frames := make([]record, len(g.frames))
	for i, f := range g.frames { // the raw frames are still needed
		if frames[i], err = parseValue([]byte(f.String())); err != nil {
			return err
		}
	}
	put := func(name string, lines []record) {
		if len(lines) > 0 {
			g.files[name] = formatLines(lines)
		}
	}
	put(wireFile, n.wire(frames, s.Input.ExactChunks, s.Input.Pin, g.opened))
	for i, log := range g.logs {
		name := logFile
		if i > 0 {
			name = fmt.Sprintf("session.%d.jsonl", i)
		}
		lines, err := parseLines(name, log)
		if err != nil {
			return err
		}
		put(name, n.log(lines))
	}
	if len(g.logs) == 0 {
		// A session that never took a turn may leave no log; the folder still
		// needs a script, which is then the header alone.
		g.files[logFile] = bareHeader(s.expected[logFile])
	}
	if s.Input.Pin && len(requests) > 0 {
		n.pin(requests[0], g.files)
	}
	put(requestsFile, n.requests(requests))
	diff := changes(before, g.after)
	for _, c := range diff {
		n.strings(c)
	}
	put(changesFile, diff)
	return nil
}

// opened returns the session that a frame's answer made or brought back, empty
// for any other frame.
func (g *got) opened(f record) string {
	if f.get("method") != nil || f.get("result") == nil {
		return ""
	}
	n, err := strconv.Atoi(f.get("id").String())
	if err != nil {
		return ""
	}
	switch ca := g.calls[n]; ca.method {
	case "session/new", "session/fork":
		return f.text("result", "sessionId")
	case "session/load", "session/resume":
		return ca.session
	}
	return ""
}

func bareHeader(script []byte) []byte {
	line, rest, _ := strings.Cut(string(script), "\n")
	if strings.TrimSpace(rest) != "" {
		return nil
	}
	return []byte(line + "\n")
}

func (r *runner) checkRules(s *Scenario, requests []record, g *got, res *Result) {
	var sent [][]sentRequest
	for i, log := range g.logs {
		faults, reqs := checkLog(fmt.Sprintf("the log of session %d", i+1), log, s.Input.UnknownTool || s.Reference)
		res.Faults = append(res.Faults, faults...)
		if len(reqs) > 0 {
			sent = append(sent, reqs)
		}
	}
	res.Faults = append(res.Faults, checkRequests(requests, sent)...)
}

// asked orders sessions as a replay meets them: by their first request to the
// model, those that made none behind.
func asked(requests []record, sessions []string) []string {
	var out []string
	for _, r := range requests {
		if id := r.text("sessionId"); id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, id := range sessions {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// readLogs reads the session logs: first those of sessions, in that order, then
// others by name.
func readLogs(state string, sessions []string) ([][]byte, error) {
	files, err := filepath.Glob(filepath.Join(state, "sessions", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	rank := func(file string) int {
		if i := slices.Index(sessions, strings.TrimSuffix(filepath.Base(file), ".jsonl")); i >= 0 {
			return i
		}
		return len(sessions)
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	var out [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("reading the session log: %w", err)
		}
		out = append(out, data)
	}
	return out, nil
}

// pin keeps the system prompt and the tools of a request.
func (n *normaliser) pin(req record, files map[string][]byte) {
	if system := req.text("head", "system"); system != "" {
		system = strings.ReplaceAll(system, "Platform: "+runtime.GOOS, "Platform: {{os}}")
		files[systemFile] = []byte(strings.TrimSuffix(n.scrub(system, "uuid"), "\n") + "\n")
	}
	if tools := req.get("head", "tools"); tools != nil {
		files[schemasFile] = formatLines(tools.items)
	}
}
