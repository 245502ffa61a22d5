package codex

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// layerTOML is what a config.toml says of hooks.
type layerTOML struct {
	hooks *config // nil without a [hooks] table
	// hooksErr drops the hooks of this file, not its other settings.
	hooksErr error
	// enabled is [features] hooks (or its old name codex_hooks); nil unsaid.
	enabled *bool
	// state is [hooks.state], by trust key (Codex 0.171.0, config and trust).
	state map[string]hookState
	// projects are the [projects."<dir>"] tables' trust_level.
	projects map[string]string
	// plugins are the [plugins."name@marketplace"] tables, whether they are enabled;
	// nil where [features] plugins is false.
	plugins map[string]bool
	// managedOnly and managedDir are of requirements.toml.
	managedOnly bool
	managedDir  string
	notes       []note
}

// managedDirKey is where requirements.toml names the administrator's scripts.
var managedDirKey = map[bool]string{false: "managed_dir", true: "windows_managed_dir"}[runtime.GOOS == "windows"]

// hookState is Codex's own record about one handler.
type hookState struct {
	enabled     *bool
	trustedHash string
}

// parseTOML reads a config.toml or requirements.toml. An error means that the
// file is not TOML at all; its text names line and column.
func parseTOML(data []byte) (*layerTOML, error) {
	var doc map[string]any
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as Codex does (0.171.0)
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, tomlError(err)
	}
	l := &layerTOML{}
	root := fromTOML(doc)
	if f := root.get("features"); f != nil {
		l.readFeatures(f)
	}
	if v := root.get("allow_managed_hooks_only"); v != nil && v.kind == boolNode {
		l.managedOnly = v.truth
	}
	if p := root.get("plugins"); p != nil && !off(root.get("features"), "plugins") {
		l.plugins = map[string]bool{}
		for _, m := range p.members {
			l.plugins[m.key] = !off(m.value, "enabled")
		}
	}
	if p := root.get("projects"); p != nil {
		l.readProjects(p)
	}
	h := root.get("hooks")
	if h == nil {
		return l, nil
	}
	if h.kind != objectNode {
		l.hooksErr = h.fail("hooks", "%s where a table was expected", h.kind)
		return l, nil
	}
	l.readState(h.get("state"))
	if d := h.get(managedDirKey); d != nil && d.kind == stringNode {
		l.managedDir = d.text
	}
	c := &config{}
	if err := c.parseEvents(h, "hooks", []string{"state", "managed_dir", "windows_managed_dir"}); err != nil {
		l.hooksErr = err
		return l, nil
	}
	l.hooks = c
	return l, nil
}

// off reports whether a table says false under the key.
func off(table *node, key string) bool {
	if table == nil {
		return false
	}
	v := table.get(key)
	return v != nil && v.kind == boolNode && !v.truth
}

func (l *layerTOML) readFeatures(f *node) {
	for _, key := range []string{"codex_hooks", "hooks"} { // the new name wins
		if v := f.get(key); v != nil && v.kind == boolNode {
			l.enabled = &v.truth
		}
	}
}

func (l *layerTOML) readProjects(p *node) {
	l.projects = map[string]string{}
	for _, m := range p.members {
		if v := m.value.get("trust_level"); v != nil && v.kind == stringNode {
			l.projects[m.key] = v.text
		}
	}
}

func (l *layerTOML) readState(s *node) {
	if s == nil {
		return
	}
	l.state = map[string]hookState{}
	for _, m := range s.members {
		var st hookState
		if v := m.value.get("enabled"); v != nil {
			if v.kind == boolNode {
				st.enabled = &v.truth
			} else {
				l.notes = append(l.notes, note{off: -1, path: "hooks.state." + m.key, text: "enabled must be true or false; it is ignored"})
			}
		}
		if v := m.value.get("trusted_hash"); v != nil && v.kind == stringNode {
			st.trustedHash = v.text
		}
		l.state[m.key] = st
	}
}

// tomlError spells go-toml's error with its place.
func tomlError(err error) error {
	var de *toml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position()
		return fmt.Errorf("line %d column %d: %s", row, col, strings.TrimPrefix(de.Error(), "toml: "))
	}
	return err
}
