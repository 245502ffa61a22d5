package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what to run.
type Options struct {
	// Dirs are scenario folders, or folders that hold some.
	Dirs []string
	// Filter is a regular expression on scenario names; empty runs all.
	Filter string
	// Agent is the agent's command. This project's own is given as its path
	// alone and started as serve in replay; a foreign one is started as it is,
	// with {{cwd}}, {{home}}, {{state}} and {{scenario}} filled in.
	Agent []string
	// Foreign says that Agent is not this project's.
	Foreign bool
	// Model replaces the replay by a live model (Record).
	Model string
	// Update rewrites the expectations from what the agent did. It never writes
	// input.json, workspace/ or replay.override.json.
	Update bool
	// Env is added to the agent's environment, which is otherwise empty but for
	// a fixed PATH, HOME, TMPDIR and locale.
	Env []string
	// Artifacts is a folder for what was got where it differs; empty keeps
	// nothing.
	Artifacts string
	// Parallel bounds how many scenarios run at once; 0 is twice the processors.
	Parallel int
	// Limit bounds each wait; 0 is a minute. It only ends runs that hang.
	Limit time.Duration
	// Out is told of each scenario as it ends; nil is silent.
	Out io.Writer
}

// Result is what came of one scenario.
type Result struct {
	Name string
	Dir  string
	// Err says why the scenario could not be run to its end.
	Err error
	// Faults are broken rules that hold whatever is recorded.
	Faults []string
	// Differences are what was recorded and did not happen.
	Differences []Difference
	// Skipped says why a foreign agent cannot take part in the scenario; it then
	// passes.
	Skipped string
	// Notes are deliberate differences from a reference recording.
	Notes []string
	// Updated lists the files that Update wrote.
	Updated []string
	// Stderr is the end of what the agent wrote there.
	Stderr string
}

// OK reports whether the scenario passed.
func (r *Result) OK() bool { return r.Err == nil && len(r.Faults) == 0 && len(r.Differences) == 0 }

// String describes a failed result for a person: the first difference, how many
// more there are, and what the agent said on stderr.
func (r *Result) String() string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintf(&b, "%v\n", r.Err)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "%s\n", f)
	}
	for i, d := range r.Differences {
		if i == 3 {
			fmt.Fprintf(&b, "and %d differences more\n", len(r.Differences)-i)
			break
		}
		fmt.Fprintf(&b, "%v\n", d)
	}
	if s := strings.TrimSpace(r.Stderr); s != "" && !r.OK() {
		fmt.Fprintf(&b, "the agent's stderr:\n%s\n", s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Report is what came of a run, in the order of the folders.
type Report struct{ Results []Result }

// OK reports whether all scenarios passed. A report of none is not OK.
func (r *Report) OK() bool {
	for i := range r.Results {
		if !r.Results[i].OK() {
			return false
		}
	}
	return len(r.Results) > 0
}

// Failed counts the scenarios that did not pass.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Results {
		if !r.Results[i].OK() {
			n++
		}
	}
	return n
}

type runner struct{ o Options }

// Run runs scenarios. The error is for what stops the run as a whole; what goes
// wrong with one scenario is in its Result.
func Run(ctx context.Context, o Options) (Report, error) {
	if len(o.Agent) == 0 {
		return Report{}, errors.New("no agent to run: give its command")
	}
	if o.Foreign && o.Update {
		return Report{}, errors.New("expectations are those of this project's agent: a foreign one cannot refresh them")
	}
	dirs, err := Find(o.Dirs...)
	if err != nil {
		return Report{}, err
	}
	filter, err := regexp.Compile(o.Filter)
	if err != nil {
		return Report{}, fmt.Errorf("the scenario filter is no regular expression: %w", err)
	}
	if o.Parallel == 0 {
		o.Parallel = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = time.Minute
	}
	r := &runner{o}
	var selected []string
	for _, d := range dirs {
		if filter.MatchString(filepath.Base(d)) {
			selected = append(selected, d)
		}
	}
	if len(selected) == 0 {
		return Report{}, fmt.Errorf("no scenario matches %q: there are %d in %s", o.Filter, len(dirs), strings.Join(o.Dirs, ", "))
	}
	rep := Report{Results: make([]Result, len(selected))}
	slots := make(chan struct{}, o.Parallel)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, dir := range selected {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			res := r.scenario(ctx, dir)
			mu.Lock()
			defer mu.Unlock()
			rep.Results[i] = res
			if ctx.Err() == nil { // what an end of the run has cut is no failure
				r.tell(&res)
			}
		})
	}
	wg.Wait()
	return rep, ctx.Err()
}

func (r *runner) tell(res *Result) {
	if r.o.Out == nil {
		return
	}
	verdict := "ok  "
	switch {
	case !res.OK():
		verdict = "FAIL"
	case res.Skipped != "":
		verdict = "skip"
	}
	fmt.Fprintf(r.o.Out, "%s %s\n", verdict, res.Name)
	if res.Skipped != "" {
		fmt.Fprintf(r.o.Out, "     %s\n", res.Skipped)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(r.o.Out, "     deliberate: %s\n", n)
	}
	for _, f := range res.Updated {
		fmt.Fprintf(r.o.Out, "     wrote %s\n", f)
	}
	if !res.OK() {
		fmt.Fprintf(r.o.Out, "     %s\n", strings.ReplaceAll(res.String(), "\n", "\n     "))
	}
}

// scenario runs one folder and compares or updates it.
func (r *runner) scenario(ctx context.Context, dir string) Result {
	res := Result{Name: filepath.Base(dir), Dir: dir}
	s, err := Load(dir)
	if err == nil && r.o.Model == "" && !r.o.Foreign {
		err = s.script()
	}
	if err != nil {
		res.Err = err
		return res
	}
	if r.o.Foreign {
		if res.Skipped = foreignSkips(s, r.o.Agent); res.Skipped != "" {
			return res
		}
	}
	g := r.observe(ctx, s, &res)
	switch {
	case g == nil:
	case res.Err != nil:
		if !s.Reference && !r.o.Foreign && !r.o.Update {
			res.Differences = cause(s, g.files)
		}
	case s.Reference:
		r.compareReference(s, g, &res)
	case r.o.Foreign:
		res.Differences = compareForeign(s, g)
	case r.o.Update && len(res.Faults) > 0:
		// Faults are no truth to be recorded.
	case r.o.Update:
		res.Err = r.update(ctx, s, g, &res)
	default:
		res.Differences = append(res.Differences, compareFiles(s, g.files)...)
	}
	if g != nil && !res.OK() {
		r.keep(&res, g)
	}
	return res
}

// keep writes what was got to the artifacts folder.
func (r *runner) keep(res *Result, g *got) {
	if r.o.Artifacts == "" {
		return
	}
	dir := filepath.Join(r.o.Artifacts, res.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		res.Faults = append(res.Faults, fmt.Sprintf("keeping what was got: %v", err))
		return
	}
	files := map[string][]byte{"stderr.txt": []byte(res.Stderr), "report.txt": []byte(res.String() + "\n")}
	for name, data := range g.files {
		files[name] = data
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			res.Faults = append(res.Faults, fmt.Sprintf("keeping what was got: %v", err))
		}
	}
}

// cause is where the log of a run that a step has ended first went another way.
// What is missing at its end is what the end of the run has cut.
func cause(s *Scenario, files map[string][]byte) []Difference {
	want, err := parseLines(logFile, s.expected[logFile])
	if err != nil {
		return nil // the agent says so
	}
	got, err := parseLines(logFile, files[logFile])
	if err != nil || len(got) == 0 {
		return nil
	}
	d := compareLines(logFile, want[:min(len(want), len(got))], got)
	return d[:min(len(d), 1)]
}

// compareFiles compares all files of a scenario, the recorded and the got. The
// log comes first, since it has the cause of most differences; ids that have
// moved come last, since they have moved for another one.
func compareFiles(s *Scenario, files map[string][]byte) []Difference {
	var out []Difference
	names := fileNames(s.expected, files)
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		if s.expected[name] == nil {
			out = append(out, Difference{name, "", "no such file: snapshot refresh writes it", firstOf(files[name])})
			continue
		}
		if strings.HasSuffix(name, ".md") {
			if want, got := string(s.expected[name]), string(files[name]); want != got {
				line, w, g := firstLine(want, got)
				out = append(out, Difference{name, fmt.Sprintf("line %d", line), w, g})
			}
			continue
		}
		want, err := parseLines(name, s.expected[name])
		if err != nil {
			out = append(out, Difference{name, "", "JSON lines", err.Error()})
			continue
		}
		got, err := parseLines(name, files[name])
		if err != nil {
			out = append(out, Difference{name, "", "JSON lines", err.Error()})
			continue
		}
		out = append(out, compareLines(name, want, got)...)
	}
	slices.SortStableFunc(out, func(a, b Difference) int { return a.moved() - b.moved() })
	return out
}

// rank orders the files of a report.
func rank(name string) int {
	if isLog(name) {
		return 0
	}
	return 1
}

var idToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"\{\{[a-z]+:[0-9]+\}\}"$`) })

// moved is 1 for an id that is another one only because of its number.
func (d Difference) moved() int {
	if idToken().MatchString(d.Want) && idToken().MatchString(d.Got) {
		return 1
	}
	return 0
}

func firstOf(file []byte) string {
	line, _, _ := strings.Cut(string(file), "\n")
	return line
}

func firstLine(a, b string) (n int, want, got string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		want, got = "the end of the file", "the end of the output"
		if i < len(x) {
			want = x[i]
		}
		if i < len(y) {
			got = y[i]
		}
		if want != got {
			return i + 1, want, got
		}
	}
	return 0, "", ""
}
