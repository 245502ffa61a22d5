package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/session"
)

// modes are the permission modes, as clients show them.
var modes = []acp.SessionMode{
	{ID: permission.ModeDefault, Name: "Ask", Description: "Asks before commands and edits."},
	{ID: permission.ModeAcceptEdits, Name: "Accept edits", Description: "Edits files in the project without asking; asks before commands."},
	{ID: permission.ModePlan, Name: "Plan", Description: "Reads and plans; changes nothing."},
	{ID: permission.ModeBypass, Name: "Bypass permissions", Description: "Asks nothing. Deny rules and hooks still hold."},
}

// effortDefault leaves the effort to the provider.
const effortDefault = "default"

// settings returns the session's modes and the full list of its options.
func (l *live) settings(ctx context.Context) (*acp.SessionModeState, []acp.SessionConfigOption, error) {
	s, err := l.Settings(ctx)
	if err != nil {
		return nil, nil, l.setError(err)
	}
	return &acp.SessionModeState{CurrentModeID: s.Mode, AvailableModes: modes}, l.view.agent.options(s), nil
}

// options are the config options in the order of their weight.
func (a *Agent) options(s loop.Settings) []acp.SessionConfigOption {
	out := []acp.SessionConfigOption{
		selectOption(loop.ConfigModel, "Model", acp.SessionConfigOptionCategoryModel, s.Model, a.modelOptions(s.Model)),
	}
	if efforts := a.efforts(s.Model); len(efforts) > 0 {
		current := cmp.Or(s.Effort, effortDefault)
		opts := []acp.SessionConfigSelectOption{{Value: effortDefault, Name: "Default"}}
		for _, e := range efforts {
			opts = append(opts, acp.SessionConfigSelectOption{Value: e, Name: capital(e)})
		}
		if s.Effort != "" && !slices.Contains(efforts, s.Effort) {
			opts = append(opts, acp.SessionConfigSelectOption{
				Value: s.Effort, Name: capital(s.Effort), Description: "As the agent is configured. This model has no such effort: the nearest is used.",
			})
		}
		out = append(out, selectOption(loop.ConfigEffort, "Reasoning effort", acp.SessionConfigOptionCategoryThoughtLevel, current, opts))
	}
	var ms []acp.SessionConfigSelectOption
	for _, m := range modes {
		ms = append(ms, acp.SessionConfigSelectOption{Value: m.ID, Name: m.Name, Description: m.Description})
	}
	return append(out, selectOption(loop.ConfigMode, "Permission mode", acp.SessionConfigOptionCategoryMode, s.Mode, ms))
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func selectOption(id, name string, cat acp.SessionConfigOptionCategory, current string, opts []acp.SessionConfigSelectOption) acp.SessionConfigOption {
	return acp.SessionConfigOption{ID: id, Name: name, Category: cat, Select: &acp.SessionConfigSelect{
		CurrentValue: current, Options: acp.SessionConfigSelectOptions{Ungrouped: opts},
	}}
}

// modelOptions are the models to choose from; the one in use is among them.
func (a *Agent) modelOptions(current string) []acp.SessionConfigSelectOption {
	var out []acp.SessionConfigSelectOption
	found := false
	for _, m := range a.cfg.Models() {
		found = found || m.Ref == current
		out = append(out, acp.SessionConfigSelectOption{Value: m.Ref, Name: m.Ref, Description: describeModel(m)})
	}
	if !found {
		out = append([]acp.SessionConfigSelectOption{{Value: current, Name: current}}, out...)
	}
	return out
}

// window is the context window of a model, 0 where it is not known.
func (a *Agent) window(ref string) int64 {
	for _, m := range a.cfg.Models() {
		if m.Ref == ref {
			return m.Window
		}
	}
	return 0
}

func describeModel(m model.Info) string {
	if m.Window == 0 {
		return ""
	}
	return fmt.Sprintf("%dk tokens of context", m.Window/1000)
}

func (a *Agent) efforts(ref string) []string {
	for _, m := range a.cfg.Models() {
		if m.Ref == ref {
			return m.Efforts
		}
	}
	return nil
}

func (a *Agent) setMode(ctx context.Context, p *acp.SetSessionModeRequest) (func() (*acp.SetSessionModeResponse, error), error) {
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if !knownMode(p.ModeID) {
		return nil, acp.InvalidParams("modeId", fmt.Sprintf("%q is not a mode; the modes are %s", p.ModeID, modeNames()))
	}
	return func() (*acp.SetSessionModeResponse, error) { return nil, l.setMode(ctx, p.ModeID) }, nil
}

func knownMode(id string) bool {
	return slices.ContainsFunc(modes, func(m acp.SessionMode) bool { return m.ID == id })
}

func modeNames() string {
	var ids []string
	for _, m := range modes {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, ", ")
}

// setMode sets the mode; setting the one in force changes nothing.
func (l *live) setMode(ctx context.Context, id string) error {
	if l.Mode() == id {
		return nil
	}
	if err := l.Record(ctx, &session.ModeSet{Mode: id, Source: session.Source{Kind: session.SourceClient}}); err != nil {
		return l.setError(err)
	}
	return nil
}

func (a *Agent) setOption(ctx context.Context, p *acp.SetSessionConfigOptionRequest) (func() (*acp.SetSessionConfigOptionResponse, error), error) {
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ConfigID == "" {
		return nil, acp.InvalidParams("configId", "it is missing; the options are model, effort and mode")
	}
	return func() (*acp.SetSessionConfigOptionResponse, error) {
		if p.Value.Bool != nil {
			return nil, acp.InvalidParams("value", "the options of this agent take a string")
		}
		if err := l.set(ctx, p.ConfigID, p.Value.ID); err != nil {
			return nil, err
		}
		_, options, err := l.settings(ctx)
		if err != nil {
			return nil, err
		}
		return &acp.SetSessionConfigOptionResponse{ConfigOptions: options}, nil
	}, nil
}

// set sets one option. Unknown ids and values are refused with the valid ones
// named, and change nothing.
func (l *live) set(ctx context.Context, id, value string) error {
	s, err := l.Settings(ctx)
	if err != nil {
		return l.setError(err)
	}
	a := l.view.agent
	src := session.Source{Kind: session.SourceClient}
	i := slices.IndexFunc(a.options(s), func(o acp.SessionConfigOption) bool { return o.ID == id })
	if i < 0 {
		var ids []string
		for _, o := range a.options(s) {
			ids = append(ids, o.ID)
		}
		return acp.InvalidParams("configId", fmt.Sprintf("%q is not an option; the options are %s", id, strings.Join(ids, ", ")))
	}
	var valid []string
	for _, o := range a.options(s)[i].Select.Options.Ungrouped {
		valid = append(valid, o.Value)
	}
	if !slices.Contains(valid, value) {
		return acp.InvalidParams("value", fmt.Sprintf("%q is not a value of %s; the values are %s", value, id, strings.Join(valid, ", ")))
	}
	switch id {
	case loop.ConfigMode:
		return l.setMode(ctx, value)
	case loop.ConfigEffort:
		if value == effortDefault {
			value = ""
		}
		if value == s.Effort {
			return nil
		}
		return l.setError(l.Record(ctx, &session.ConfigSet{ID: loop.ConfigEffort, Value: value, Source: src}))
	}
	if value == s.Model {
		return nil
	}
	effort := s.Effort
	if !slices.Contains(a.efforts(value), effort) {
		effort = ""
	}
	return l.setError(l.SetModel(ctx, value, effort, src))
}

func (l *live) setError(err error) error {
	var refused *loop.Refused
	switch {
	case err == nil:
		return nil
	case errors.Is(err, loop.ErrClosed): // since the request was admitted
		return acp.SessionNotFound(l.ID())
	case errors.As(err, &refused):
		return acp.InvalidRequest("a hook refused the change: " + refused.Reason)
	case errors.Is(err, context.Canceled): // by the client, or with the connection: no fault of the agent's
		return acp.RequestCancelled()
	}
	return acp.InternalError(err.Error())
}
