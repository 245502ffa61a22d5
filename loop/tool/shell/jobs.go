package shell

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"acp-agent/loop/tool"
)

const (
	// maxRunning bounds the background jobs of a session that run at once.
	maxRunning = 32
	// maxFinished bounds the finished jobs whose output is kept.
	maxFinished = 32
	// defaultWait is how long job_output waits when it is told to wait.
	defaultWait = 30 * time.Second
)

// Job is a command in the background: its id, its command line, and what it does in
// the model's words, which may be empty.
type Job struct{ ID, Command, Description string }

// job is a command in the background. Its output is stdout and stderr together,
// in the order in which they came.
type job struct {
	Job
	out    *capture
	cancel context.CancelFunc
	done   chan struct{} // closed when exit and err are set
	exit   exit
	err    error
}

// status is the job's state, for the model.
func (j *job) status() string {
	select {
	case <-j.done:
	default:
		return "running"
	}
	switch {
	case j.err != nil:
		return "could not be started: " + tool.Cause(j.err)
	case j.exit.cancelled:
		return "killed"
	case j.exit.signal != "":
		return "killed by signal " + j.exit.signal
	}
	return "exited with code " + strconv.Itoa(j.exit.code)
}

// jobs are the background jobs of a session.
type jobs struct {
	running sync.WaitGroup

	mu       sync.Mutex
	byID     map[string]*job
	finished []string // ids, oldest first
	active   int
	last     int
	closed   bool
}

func (js *jobs) start(c command, what Job, spill func() (*os.File, error)) (*job, string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return nil, "The session is closing; no job was started."
	}
	if js.active >= maxRunning {
		return nil, fmt.Sprintf("There are %d background jobs already. End one with job_kill first.", js.active)
	}
	js.last++
	js.active++
	ctx, cancel := context.WithCancel(context.Background()) // the session's end cancels it, not the turn's
	what.ID = "job-" + strconv.Itoa(js.last)
	j := &job{Job: what, out: &capture{spill: spill}, cancel: cancel, done: make(chan struct{})}
	js.byID[j.ID] = j
	c.stdout, c.stderr = j.out, j.out
	js.running.Go(func() {
		defer cancel()
		j.exit, j.err = run(ctx, c)
		j.out.close()
		close(j.done)
		js.finish(j.ID)
	})
	return j, ""
}

// finish counts a job as ended and forgets the oldest of many.
func (js *jobs) finish(id string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.active--
	js.finished = append(js.finished, id)
	if len(js.finished) > maxFinished {
		delete(js.byID, js.finished[0])
		js.finished = js.finished[1:]
	}
}

// Running are the jobs that have not ended, in the order of their start.
func (s *Shell) Running() []Job {
	js := &s.jobs
	js.mu.Lock()
	defer js.mu.Unlock()
	var out []Job
	for n := 1; js.active > 0 && n <= js.last; n++ {
		if j := js.byID["job-"+strconv.Itoa(n)]; j != nil && j.status() == "running" {
			out = append(out, j.Job)
		}
	}
	return out
}

func (js *jobs) get(id string) (*job, string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j := js.byID[id]; j != nil {
		return j, ""
	}
	if len(js.byID) == 0 {
		return nil, fmt.Sprintf("There is no job %q, nor any other: jobs end when the session is closed.", id)
	}
	ids := slices.SortedFunc(maps.Keys(js.byID), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return nil, fmt.Sprintf("There is no job %q. The jobs are: %s.", id, strings.Join(ids, ", "))
}

func (js *jobs) close() {
	js.mu.Lock()
	js.closed = true
	for _, j := range js.byID {
		j.cancel()
	}
	js.mu.Unlock()
	js.running.Wait()
}

func (b *bash) background(env *tool.Env, c command, what Job) tool.Result {
	j, fault := b.jobs.start(c, what, func() (*os.File, error) { return b.spills.file("job") })
	if j == nil {
		return tool.Fail(fault)
	}
	text := "Started " + j.ID + " in the background. Read its output with job_output."
	r := tool.Text(text)
	r.Meta.Response, _ = json.Marshal(bashResponse{Stdout: text, JobID: j.ID}) // always encodes
	return r
}

//go:embed schemas/job_output.json
var jobOutputSchemaFile string

var jobOutputSchema = tool.Schema(jobOutputSchemaFile)

type jobOutputArgs struct {
	JobID     string `json:"job_id" jsonschema_description:"The id that bash returned."`
	Wait      bool   `json:"wait,omitempty" jsonschema_description:"Wait until the job has ended or timeout_ms has passed."`
	TimeoutMs int64  `json:"timeout_ms,omitempty" jsonschema_description:"How long to wait, in milliseconds. Default 30000, at most 600000."`
}

type jobOutput struct{ *Shell }

func (*jobOutput) Spec() tool.Spec {
	return tool.Spec{
		Name:        "job_output",
		Description: "Returns what a background job has written since the last call, and whether it still runs.",
		Schema:      jobOutputSchema(), Kind: tool.KindExecute, ReadOnly: true,
	}
}

func (*jobOutput) View(_ *tool.Env, input json.RawMessage) tool.View {
	return tool.View{Title: tool.Title(strings.TrimSpace("Output of " + tool.Peek[jobOutputArgs](input).JobID))}
}

func (*jobOutput) Check(input json.RawMessage) error {
	_, err := tool.Decode[jobOutputArgs](input)
	return err
}

func (t *jobOutput) Run(ctx context.Context, _ *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := tool.Decode[jobOutputArgs](input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	j, fault := t.jobs.get(a.JobID)
	if j == nil {
		return tool.Fail(fault), nil
	}
	if a.Wait {
		wait := defaultWait
		if a.TimeoutMs > 0 {
			wait = time.Duration(min(a.TimeoutMs, maxTimeout.Milliseconds())) * time.Millisecond
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-j.done:
		case <-timer.C:
		case <-ctx.Done():
			return tool.Fail("[cancelled]"), nil
		}
	}
	status := j.status() // before the output: what an ended job wrote is then all there
	text := j.out.take()
	if text == "" {
		text = "(no new output)"
	}
	return tool.Text(line(text) + "[status: " + status + "]"), nil
}

//go:embed schemas/job_kill.json
var jobKillSchemaFile string

var jobKillSchema = tool.Schema(jobKillSchemaFile)

type jobKillArgs struct {
	JobID string `json:"job_id" jsonschema_description:"The id that bash returned."`
}

type jobKill struct{ *Shell }

// Spec says read-only: the job was permitted when it started, and ending it
// needs no second question.
func (*jobKill) Spec() tool.Spec {
	return tool.Spec{
		Name: "job_kill", Description: "Ends a background job and everything it started.",
		Schema: jobKillSchema(), Kind: tool.KindExecute, ReadOnly: true,
	}
}

func (*jobKill) View(_ *tool.Env, input json.RawMessage) tool.View {
	return tool.View{Title: tool.Title(strings.TrimSpace("End " + tool.Peek[jobKillArgs](input).JobID))}
}

func (*jobKill) Check(input json.RawMessage) error {
	_, err := tool.Decode[jobKillArgs](input)
	return err
}

func (t *jobKill) Run(ctx context.Context, _ *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := tool.Decode[jobKillArgs](input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	j, fault := t.jobs.get(a.JobID)
	if j == nil {
		return tool.Fail(fault), nil
	}
	j.cancel()
	select {
	case <-j.done: // within the grace of a cancelled command
	case <-ctx.Done():
	}
	return tool.Text("[status: " + j.status() + "]"), nil
}
