package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"acp-agent/hooks"
)

// maxRounds is how many requests an agent handler's evaluator may make
// (Claude Code hooks reference, agent-based hooks: 50 turns).
const maxRounds = 50

// ask runs a prompt or agent handler: a model is asked whether things are in
// order, an agent handler's with tools to look for itself, and its verdict is put
// in the terms of a hook's JSON answer (Claude Code hooks reference, handlers).
func (d *Dialect) ask(ctx context.Context, job *hooks.Job) hooks.Exit {
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return noAnswer("waiting for other prompt hooks: %w", ctx.Err())
	}
	text, err := d.cfg.Judge.Judge(ctx, question(job))
	if errors.Is(err, hooks.ErrNotAsked) {
		return hooks.Exit{Code: -1, StartErr: err}
	}
	if err != nil {
		return noAnswer("asking the model: %w", err)
	}
	v, err := parseVerdict(text)
	if err != nil {
		return noAnswer("the model's answer %q: %w", hooks.Head(text, 200), err)
	}
	return hooks.Exit{Stdout: v.answer(job.Handler.Event, extOf(job.Handler).continueOnBlock)}
}

// question is what a handler of type prompt or agent asks.
func question(job *hooks.Job) *hooks.Question {
	x := extOf(job.Handler)
	q := &hooks.Question{
		Handler: job.ID, Event: job.Handler.Event, Model: x.model,
		System: promptSystem, Prompt: promptText(x.prompt, job.Payload), Rounds: 1,
		Check: func(answer string) error {
			_, err := parseVerdict(answer)
			return err
		},
	}
	if job.Handler.Type != "agent" {
		return q
	}
	q.System, q.Tool, q.Rounds = agentSystem, verdictTool, maxRounds
	if q.Transcript = transcriptOf(job.Payload); q.Transcript != "" {
		q.System += "\n\nThe conversation so far is in the file " + q.Transcript + ", one JSON object a line. Read it if you need it."
	}
	return q
}

const judgeSystem = "You judge a condition for a hook of a coding agent. The message says what to check; the JSON object in it is what the hook was told of the occasion."

const promptSystem = judgeSystem + " Answer with one JSON object and nothing else: " +
	`{"ok": true} if the condition holds, or {"ok": false, "reason": "what is missing"}. Add "impossible": true if it can never hold.`

const agentSystem = judgeSystem + " Look for yourself with your tools, in as few steps as you can. You can change nothing and ask nobody." +
	" Then call the tool " + verdictToolName + " with your decision: ok is true if the condition holds;" +
	" otherwise ok is false and reason says what is missing, in words that the agent can act on. Add impossible: true if it can never hold."

// verdictToolName is the vendor's name for it.
const verdictToolName = "StructuredOutput"

var verdictTool = hooks.AnswerTool{
	Name:        verdictToolName,
	Description: "Gives your decision and ends your work. Call it exactly once.",
	Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"ok":{"type":"boolean","description":"Whether the condition holds."},` +
		`"reason":{"type":"string","description":"What is missing, where it does not."},` +
		`"impossible":{"type":"boolean","description":"True where it can never hold."}},` +
		`"required":["ok"],"additionalProperties":false}`),
}

// promptText puts the input in place of $ARGUMENTS, or at the end; \$ is a plain
// dollar sign.
func promptText(prompt string, payload []byte) string {
	const mark = "\x00"
	input := strings.TrimSuffix(string(payload), "\n")
	s := strings.ReplaceAll(prompt, `\$`, mark)
	if strings.Contains(s, "$ARGUMENTS") {
		// The input may hold marks of its own: only the prompt's become dollar signs.
		parts := strings.Split(s, "$ARGUMENTS")
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], mark, "$")
		}
		return strings.Join(parts, input)
	}
	return strings.ReplaceAll(s, mark, "$") + "\n\n" + input
}

func transcriptOf(payload []byte) string {
	var p struct {
		Path string `json:"transcript_path"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	return p.Path
}

type verdict struct {
	OK         *bool  `json:"ok"`
	Reason     string `json:"reason"`
	Impossible bool   `json:"impossible"`
}

// parseVerdict finds the object in a model's answer, which may have a fence or a
// sentence round it.
func parseVerdict(text string) (verdict, error) {
	var v verdict
	i, j := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if i < 0 || j < i {
		return v, errors.New("there is no JSON object in it")
	}
	if err := json.Unmarshal([]byte(text[i:j+1]), &v); err != nil {
		return v, fmt.Errorf("it is not the JSON that was asked for: %w", err)
	}
	if v.OK == nil {
		return v, errors.New("it does not say \"ok\"")
	}
	return v, nil
}

// answer is what ok:false means on the event.
func (v verdict) answer(ev hooks.Event, continueOnBlock bool) []byte {
	w := hooks.NewObject(nil)
	if *v.OK {
		return w.Close()
	}
	switch ev {
	case hooks.Stop, hooks.SubagentStop:
		if v.Impossible {
			return w.Close()
		}
	case hooks.PermissionRequest, hooks.PermissionDenied:
		return w.Close()
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch:
		if !continueOnBlock {
			w.Bool("continue", false)
			w.Str("stopReason", v.Reason)
		}
	}
	w.Str("decision", "block")
	w.Str("reason", v.Reason)
	return w.Close()
}
