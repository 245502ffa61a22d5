package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// prompter asks a model one question, for prompt and agent hooks.
type prompter struct{ models *models }

// Ask implements hooks.Prompter. A model that the hook names is taken when it is
// one of this agent's (provider/name); any other name, such as one of Claude
// Code's, stands for the default model.
func (p prompter) Ask(ctx context.Context, name, question string) (string, error) {
	ref, err := p.models.defaultRef()
	if err != nil {
		return "", err
	}
	if strings.Contains(name, "/") {
		ref = name
	}
	client, info, err := p.models.Client(ref)
	if err != nil {
		return "", err
	}
	provider, model_, _ := strings.Cut(info.Ref, "/")
	req := &model.Request{
		Head:     session.RequestHead{Config: session.Params{Provider: provider, Model: model_, MaxTokens: info.MaxOutput}},
		Messages: []session.Message{{Role: session.RoleUser, Content: []session.Block{session.Text(question)}}},
	}
	var a session.Assembler
	for c, err := range client.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		a.Add(&c)
	}
	var b strings.Builder
	for _, blk := range a.Blocks(false) {
		if blk.Type == session.BlockText {
			b.WriteString(blk.Text)
		}
	}
	if b.Len() == 0 {
		return "", errors.New("the model answered without text")
	}
	return b.String(), nil
}

// envFile is where SessionStart hooks of a session leave export lines.
func (w *wiring) envFile(id string) string {
	if w.cfg.StateDir == "" {
		return ""
	}
	return filepath.Join(w.cfg.StateDir, "env", id+".sh")
}
