package loop

import (
	"encoding/json"
	"path/filepath"

	"acp-agent/hooks"
	"acp-agent/session"
)

// Instruction is a file of project instructions (AGENTS.md, CLAUDE.md).
type Instruction struct {
	// Path is absolute. Digest changes with the content.
	Path, Digest string
	// Text is what the model is shown, framed by whoever found the file.
	Text string
	// Memory is Claude Code's memory_type: User, Project, Local or Managed.
	Memory string
}

// Instructions finds the project's instruction files.
type Instructions interface {
	// Initial returns those of the session's directory and above it.
	Initial() []Instruction
	// Touched returns those that stand between the session's directory and a
	// file that a tool has touched.
	Touched(path string) []Instruction
}

// instructionName marks a context/message that holds instructions; its meta
// says which file at which state, so that a resumed session does not repeat it.
const instructionName = "instructions"

type instructionMeta struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// instruct makes context messages of the instructions that the model has not
// seen in their present state.
func (t *turn) instruct(found []Instruction, reason string) ([]session.Data, error) {
	s := t.s
	if s.instructed == nil {
		s.instructed = map[string]string{}
		for path, digest := range s.state.Instructions {
			s.instructed[path] = digest
		}
	}
	var data []session.Data
	for _, in := range found {
		if s.instructed[in.Path] == in.Digest {
			continue
		}
		s.instructed[in.Path] = in.Digest
		meta, err := json.Marshal(instructionMeta{in.Path, in.Digest})
		if err != nil {
			return nil, err
		}
		data = append(data, &session.ContextMessage{
			Content: []session.Block{session.Text(in.Text)}, Meta: meta,
			Source: session.Source{Kind: session.SourceAgent, Name: instructionName},
		})
		if _, err := t.fire(&hooks.Call{Event: hooks.InstructionsLoaded, Fields: map[string]any{
			"file_path": in.Path, "memory_type": in.Memory, "load_reason": reason,
		}}); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// initialInstructions are those of the session's directory, once, and again
// after a compaction has replaced them.
func (t *turn) initialInstructions() ([]session.Data, error) {
	s := t.s
	if s.cfg.Instructions == nil {
		return nil, nil
	}
	reason := "session_start"
	if s.compactions != s.state.Compactions {
		s.compactions, s.instructed, reason = s.state.Compactions, map[string]string{}, "compact"
	}
	return t.instruct(s.cfg.Instructions.Initial(), reason)
}

// touched looks for instructions nearer to the files that a step's tools have
// touched.
func (t *turn) touched(jobs []*job) error {
	s := t.s
	if s.cfg.Instructions == nil || t.ctx.Err() != nil {
		return nil
	}
	for _, j := range jobs {
		if j.result == nil || !j.started {
			continue
		}
		for _, l := range j.result.Meta.Locations {
			if !filepath.IsAbs(l.Path) {
				continue
			}
			data, err := t.instruct(s.cfg.Instructions.Touched(l.Path), "nested_traversal")
			if err != nil {
				return err
			}
			t.contexts = append(t.contexts, data...)
		}
	}
	return nil
}
