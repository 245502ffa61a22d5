package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"acp-agent/hooks"
)

// DiscoverOptions say where to look. Empty directories are not looked at.
type DiscoverOptions struct {
	// Cwd is where the session starts.
	Cwd string
	// CodexHome is $CODEX_HOME; empty stands for Home/.codex.
	Home, CodexHome string
	// SystemDir is /etc/codex.
	SystemDir string
	// Extra are files named on the command line: a hooks.json, or a file with a
	// [hooks] table when its name ends in .toml; or plugins: a directory, or its
	// hooks/hooks.json. They count as trusted.
	Extra []string
	// DataDir is where plugins among Extra keep their data; empty: nowhere.
	DataDir string
	// Watch notes what is looked at; nil: nobody asks.
	Watch *hooks.Watch
}

// File is one place that hooks may come from. A file that is not there is
// listed too (it may appear while the session runs).
type File struct {
	// Path is absolute.
	Path  string
	Layer hooks.Layer
	// Missing: there is no such file. Dropped: it is there, and nothing of it
	// applies; a Problem says why.
	Missing, Dropped bool

	config *config
	data   []byte // for line and column; nil for TOML
	// managed: an administrator's, which runs unasked.
	managed bool
	// off says why none of its handlers runs; ownSwitch that the person or the
	// administrator has switched them off, who need not be told in each session.
	off       string
	ownSwitch bool
	// projectUntrusted: Codex's own config says so of the project.
	projectUntrusted bool
	state            map[string]hookState
	// keySource stands for the path in Codex's trust keys; empty: the path.
	keySource string
	// plugin are the variables of a plugin's hooks (Codex 0.171.0, execution), pluginData one of
	// them: the directory to make.
	plugin     map[string]string
	pluginData string
}

// problem is a fault in the file, with the place as exact as it is known.
func (f *File) problem(off int, path, text string) hooks.Problem {
	where := path
	if off >= 0 && f.data != nil {
		where = strings.TrimSuffix((&placedError{off: off}).in(f.data), ": ")
		if path != "" {
			where += " (" + path + ")"
		}
	}
	return hooks.Problem{File: f.Path, Where: where, Text: text}
}

// finder collects the files of one Discover.
type finder struct {
	watch    *hooks.Watch
	files    []File
	problems []hooks.Problem
	links    hooks.Links
	real     map[string]bool
	// plugins are the user's [plugins], by id.
	plugins map[string]bool
	// state and projects are the user's; Codex takes no one else's (Codex 0.171.0, config and trust).
	state    map[string]hookState
	projects map[string]string
	// enabled is [features] hooks, the user's over the system's, and where it
	// was said.
	enabled     *bool
	enabledAt   string
	pinned      bool   // the administrator's requirements have the last word
	managedOnly string // the file that says allow_managed_hooks_only
}

// Discover finds and reads the hooks of all layers, lowest first (Codex 0.171.0, config and trust):
// the administrator's requirements, the system's, the user's, the project's
// from its root down to Cwd, the administrator's legacy managed_config.toml, the
// files named on the command line, and the plugins that the user has switched on.
// A file that Codex would drop is dropped whole and a Problem says so.
func Discover(o DiscoverOptions) ([]File, []hooks.Problem) {
	d := &finder{watch: o.Watch, real: map[string]bool{}}
	if d.watch == nil {
		d.watch = hooks.NewWatch(nil)
	}
	if o.SystemDir != "" {
		d.requirements(filepath.Join(o.SystemDir, "requirements.toml"))
		d.layer(o.SystemDir, hooks.LayerSystem)
	}
	home := d.user(o)
	if o.Cwd != "" {
		d.project(o.Cwd)
	}
	if o.SystemDir != "" {
		d.problems = append(d.problems, hooks.UnreadPolicies("com.openai.codex", o.Home, "requirements.toml")...)
		d.tomlFile(filepath.Join(o.SystemDir, "managed_config.toml"), hooks.LayerManaged)
	}
	for _, path := range o.Extra {
		d.explicit(path, o)
	}
	d.installed(home)
	d.switches()
	return d.files, d.problems
}

// user reads the person's own layer and returns its directory. Where CODEX_HOME
// leads into the project it is what the repository says: it needs the project's
// trust, and cannot vouch for itself.
func (d *finder) user(o DiscoverOptions) string {
	usual := ""
	if o.Home != "" {
		usual = filepath.Join(o.Home, ".codex")
	}
	home := o.CodexHome
	if home == "" {
		home = usual
	}
	if home == "" {
		return ""
	}
	if abs, err := filepath.Abs(home); err == nil {
		home = abs
	}
	if home != usual && o.Cwd != "" && hooks.FromRepository(home, hooks.RepositoryRoot(o.Cwd), o.Home) {
		d.problems = append(d.problems, hooks.Problem{File: home, Text: "CODEX_HOME leads into this project, so what is there needs the project's trust (`acp-agent hooks trust`)"})
		d.layer(home, hooks.LayerProject)
		return ""
	}
	d.layer(home, hooks.LayerUser)
	return home
}

// layer reads a directory's hooks.json and config.toml.
func (d *finder) layer(dir string, layer hooks.Layer) {
	first := len(d.files)
	d.jsonFile(filepath.Join(dir, "hooks.json"), layer)
	d.tomlFile(filepath.Join(dir, "config.toml"), layer)
	var both []string
	for _, f := range d.files[first:] {
		if f.config != nil && len(f.config.groups) > 0 {
			both = append(both, f.Path)
		}
	}
	if len(both) == 2 {
		d.problems = append(d.problems, hooks.Problem{File: both[0], Text: fmt.Sprintf(
			"hooks are loaded from this file and from %s; keep a layer's hooks in one of the two", both[1])})
	}
}

// read loads a file once, whatever names lead to it. It returns nil when there
// is nothing more to do with it.
func (d *finder) read(path string, layer hooks.Layer) (*File, []byte) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	f := File{Path: path, Layer: layer, managed: layer == hooks.LayerManaged || layer == hooks.LayerSystem}
	real := d.links.Real(path)
	if d.real[real] {
		return nil, nil
	}
	d.real[real] = true
	data, err := d.watch.Read(path)
	if err != nil {
		f.Missing = errors.Is(err, fs.ErrNotExist)
		if !f.Missing {
			f.Dropped = true
			d.problems = append(d.problems, hooks.Problem{File: path, Text: fmt.Sprintf(
				"the file cannot be read, so its hooks do not run: %v", hooks.Cause(err))})
		}
		data = nil
	}
	d.files = append(d.files, f)
	return &d.files[len(d.files)-1], data
}

func (d *finder) drop(f *File, err error) {
	f.Dropped = true
	where, text := "", err.Error()
	var pe *placedError
	if errors.As(err, &pe) {
		p := f.problem(pe.off, pe.path, pe.msg)
		where, text = p.Where, p.Text
	}
	d.problems = append(d.problems, hooks.Problem{
		File: f.Path, Where: where,
		Text: text + "; Codex drops the whole file for this, so none of its hooks run",
	})
}

func (d *finder) notes(f *File, notes []note) {
	for _, n := range notes {
		d.problems = append(d.problems, f.problem(n.off, n.path, n.text))
	}
}

func (d *finder) jsonFile(path string, layer hooks.Layer) {
	f, data := d.read(path, layer)
	if f == nil || f.Missing || f.Dropped {
		return
	}
	if json.Valid(data) {
		d.watch.Keep(f.Path, data)
	} else {
		data = d.before(f, data)
	}
	f.data = data
	c, err := parseHooksJSON(data)
	if err != nil {
		d.drop(f, err)
		return
	}
	f.config = c
	d.notes(f, c.notes)
}

// before is what a file said when it was last whole, for one that is not: an
// editor that saves in place leaves it in pieces for a moment, and its guards
// must not be lost for that. At a session's first load it is the data as it is.
func (d *finder) before(f *File, data []byte) []byte {
	before, ok := d.watch.Before(f.Path)
	if !ok {
		return data
	}
	d.problems = append(d.problems, hooks.Problem{File: f.Path, Text: "it is in pieces at the moment; what it said before counts until it is whole again"})
	return before
}

// parse reads a TOML file, or what it was before.
func (d *finder) parse(f *File, data []byte) *layerTOML {
	l, err := parseTOML(data)
	if err == nil {
		d.watch.Keep(f.Path, data)
		return l
	}
	if before := d.before(f, nil); before != nil {
		if l, err = parseTOML(before); err == nil {
			return l
		}
	}
	d.drop(f, err)
	return nil
}

// tomlFile reads a layer's config.toml: its hooks and its switches.
func (d *finder) tomlFile(path string, layer hooks.Layer) {
	f, data := d.read(path, layer)
	if f == nil || f.Missing || f.Dropped {
		return
	}
	l := d.parse(f, data)
	if l == nil {
		return
	}
	d.notes(f, l.notes)
	switch layer {
	case hooks.LayerUser:
		d.state, d.projects, d.plugins = l.state, l.projects, l.plugins
		fallthrough
	case hooks.LayerSystem, hooks.LayerManaged:
		if l.enabled != nil && !d.pinned {
			d.enabled, d.enabledAt = l.enabled, f.Path
		}
	case hooks.LayerProject:
		// A repository may switch its own hooks off, never the person's.
		if l.enabled != nil && !*l.enabled {
			d.offBeside(f, fmt.Sprintf("hooks are switched off by [features] in %s", f.Path))
		}
	}
	d.take(f, l)
}

func (d *finder) take(f *File, l *layerTOML) {
	switch {
	case l.hooksErr != nil:
		d.drop(f, l.hooksErr)
	case l.hooks != nil:
		f.config = l.hooks
		d.notes(f, l.hooks.notes)
	}
}

// offBeside switches the files of the same directory off.
func (d *finder) offBeside(f *File, why string) {
	for i := range d.files {
		if filepath.Dir(d.files[i].Path) == filepath.Dir(f.Path) {
			d.files[i].off = why
		}
	}
}

// requirements reads the administrator's hooks, which need a directory for
// their scripts: Codex refuses to start without it.
func (d *finder) requirements(path string) {
	f, data := d.read(path, hooks.LayerManaged)
	if f == nil || f.Missing || f.Dropped {
		return
	}
	l := d.parse(f, data)
	if l == nil {
		return
	}
	if l.managedOnly {
		d.managedOnly = f.Path
	}
	if l.enabled != nil {
		d.enabled, d.enabledAt, d.pinned = l.enabled, f.Path, true
	}
	if l.hooks != nil && len(l.hooks.groups) > 0 {
		if err := checkManagedDir(l.managedDir); err != nil {
			d.drop(f, err)
			return
		}
	}
	d.take(f, l)
}

func checkManagedDir(dir string) error {
	at := "hooks." + managedDirKey
	if dir == "" {
		return fmt.Errorf("%s is missing; managed hooks need the directory of their scripts", at)
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is %q, which is not an absolute path", at, dir)
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return fmt.Errorf("%s is %q, which is no directory", at, dir)
	}
	return nil
}

// explicit reads a file, or a plugin, that the person has named.
func (d *finder) explicit(path string, o DiscoverOptions) {
	if !filepath.IsAbs(path) && o.Cwd != "" {
		path = filepath.Join(o.Cwd, path)
	}
	path = filepath.Clean(path)
	root, dir := hooks.NamedPlugin(path, manifests...)
	before := len(d.files)
	switch {
	case dir:
		d.plugin(plugin{root: root, data: hooks.PluginData(o.DataDir, root), layer: hooks.LayerExplicit})
		return
	case strings.EqualFold(filepath.Ext(path), ".toml"):
		d.tomlFile(path, hooks.LayerExplicit)
	default:
		d.jsonFile(path, hooks.LayerExplicit)
	}
	if len(d.files) == before {
		return
	}
	if root != "" {
		d.files[before].ofPlugin(plugin{root: root, data: hooks.PluginData(o.DataDir, root)})
	}
	if d.files[before].Missing {
		d.problems = append(d.problems, hooks.Problem{
			File: d.files[before].Path,
			Text: "there is no such file; it was named as a file of Codex hooks",
		})
	}
}

// project reads every .codex from the repository's root down to cwd.
func (d *finder) project(cwd string) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return
	}
	first := len(d.files)
	root, checkout := projectRoot(abs)
	for _, dir := range chain(root, abs) {
		if rel, err := filepath.Rel(root, dir); err == nil && checkout != root {
			dir = filepath.Join(checkout, rel)
		}
		d.layer(filepath.Join(dir, ".codex"), hooks.LayerProject)
	}
	for i := range d.files[first:] {
		f := &d.files[first+i]
		f.projectUntrusted = d.projects[root] == "untrusted" || d.projects[checkout] == "untrusted"
	}
}

// switches applies what was said for all files, once all are read.
func (d *finder) switches() {
	for i := range d.files {
		f := &d.files[i]
		f.state = d.state
		switch {
		case d.enabled != nil && !*d.enabled && f.Layer != hooks.LayerExplicit:
			f.off, f.ownSwitch = fmt.Sprintf("hooks are switched off by [features] in %s", d.enabledAt), true
		case d.managedOnly != "" && !f.managed:
			f.off, f.ownSwitch = fmt.Sprintf("%s allows managed hooks only", d.managedOnly), true
		}
	}
}
