package main

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop/permission"
)

// app is what a subcommand is given. Its parts are made when they are asked for:
// `version` reads no config file, and serve opens nothing that it does not use.
type app struct {
	flags  config.Flags
	env    config.Env
	stdin  *os.File
	stdout *os.File // the real one; descriptor 1 is stderr by now
	stderr io.Writer

	cfg *config.Config
}

// config loads the configuration once.
func (a *app) config() (*config.Config, error) {
	if a.cfg != nil {
		return a.cfg, nil
	}
	cfg, err := config.Load(a.flags, a.env)
	if err != nil {
		return nil, err
	}
	if _, err := permissionRules(cfg); err != nil {
		return nil, err
	}
	a.cfg = cfg
	return cfg, nil
}

// permissionRules are those of the config file. One that is not well formed is a
// fault of the file, which is said before a session fails of it.
func permissionRules(cfg *config.Config) (*permission.Rules, error) {
	p := cfg.Permissions
	rules, err := permission.NewRules(cfg.Home(), p.Allow, p.Ask, p.Deny)
	if err != nil {
		list, _, _ := strings.Cut(err.Error(), " ") // allow, ask or deny
		return nil, &config.Error{What: "config file " + cfg.Place("permissions", list) + ": permissions: " + err.Error(), Do: "correct the rule, such as \"Bash(git *)\"", Err: err}
	}
	return rules, nil
}

// logger makes the debug log. Known keys are cut out of every line. close ends
// the file, if there is one.
func (a *app) logger(cfg *config.Config) (log *slog.Logger, close func() error, err error) {
	w, close := a.stderr, func() error { return nil }
	if cfg.LogFile != "" {
		f, err := openPrivate(cfg.LogFile)
		if err != nil {
			return nil, nil, &config.Error{What: "opening the log file " + cfg.LogFile + ": " + reason(err), Do: "name a writable file with --log-file"}
		}
		w, close = f, f.Close
	}
	h := slog.NewTextHandler(cfg.RedactWriter(w), &slog.HandlerOptions{Level: cfg.LogLevel})
	return slog.New(h), close, nil
}

// tracer returns the writer of the raw wire, nil when it is not wanted. Known
// keys are cut out.
func (a *app) tracer(cfg *config.Config) (w io.Writer, close func() error, err error) {
	if cfg.Trace == "" {
		return nil, func() error { return nil }, nil
	}
	f, err := openPrivate(cfg.Trace)
	if err != nil {
		return nil, nil, &config.Error{What: "opening the trace file " + cfg.Trace + ": " + reason(err), Do: "name a writable file with --trace"}
	}
	return &lockedWriter{w: cfg.RedactWriter(f)}, f.Close, nil
}

// openPrivate opens a file for appending. Logs and traces hold what was said and
// are nobody else's business.
func openPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// lockedWriter serves the two directions of the wire.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// reason is the bare cause of a file error, for messages that name the file
// themselves.
func reason(err error) string {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
