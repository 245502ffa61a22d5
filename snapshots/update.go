package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// update rewrites the expectations from what was got, then runs the scenario
// again from what it wrote. The log is the model's script too: one that does
// not replay to itself would lose the recording, so it is put back.
func (r *runner) update(ctx context.Context, s *Scenario, g *got, res *Result) error {
	if len(g.files[logFile]) == 0 {
		return errors.New("the agent wrote no log and the script is more than a header: nothing was updated")
	}
	if err := checkSecrets(r.o.Env, g.files); err != nil {
		return err
	}
	if r.o.Model != "" {
		var err error
		if g, err = r.replayed(ctx, s, g); err != nil {
			return err
		}
	}
	names := fileNames(s.expected, g.files)
	for _, name := range names {
		if bytes.Equal(s.expected[name], g.files[name]) {
			continue
		}
		if err := replaceFile(filepath.Join(s.Dir, name), g.files[name]); err != nil {
			return fmt.Errorf("updating %s: %w", name, err)
		}
		res.Updated = append(res.Updated, name)
	}
	if len(res.Updated) == 0 {
		return nil
	}
	again := Result{}
	replay := &runner{r.o}
	replay.o.Model = ""
	fresh, err := Load(s.Dir)
	if err == nil {
		if g := replay.observe(ctx, fresh, &again); g != nil && again.Err == nil {
			again.Differences = compareFiles(fresh, g.files)
		}
		if again.OK() {
			return nil
		}
		err = errors.New(again.String())
	}
	for _, name := range names {
		if werr := replaceFile(filepath.Join(s.Dir, name), s.expected[name]); werr != nil {
			err = errors.Join(err, werr)
		}
	}
	res.Updated = nil
	return fmt.Errorf("the updated scenario does not run as it says, so it was put back:\n%w", err)
}

// replayed is what the agent does when the recording answers in the provider's
// place. That is what a scenario expects: the provider's name and its price are
// no part of it. The logs of the live run are put in
// place for it and taken away again.
func (r *runner) replayed(ctx context.Context, s *Scenario, live *got) (*got, error) {
	logs := map[string][]byte{}
	for name, data := range live.files {
		if isLog(name) {
			logs[name] = data
		}
	}
	restore := func() error {
		var err error
		for name := range logs {
			err = errors.Join(err, replaceFile(filepath.Join(s.Dir, name), s.expected[name]))
		}
		return err
	}
	for name, data := range logs {
		if err := replaceFile(filepath.Join(s.Dir, name), data); err != nil {
			return nil, errors.Join(fmt.Errorf("recording %s: %w", name, err), restore())
		}
	}
	replay := &runner{r.o}
	replay.o.Model = ""
	res := Result{}
	fresh, err := Load(s.Dir)
	var g *got
	if err == nil {
		g = replay.observe(ctx, fresh, &res)
	}
	if rerr := restore(); err != nil || rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	if g == nil || !res.OK() {
		return nil, fmt.Errorf("the recording does not replay, nothing was written:\n%v", &res)
	}
	for name, data := range logs {
		if d, err := sameRun(name, data, g.files[name]); err != nil || d != nil {
			return nil, errors.Join(fmt.Errorf("the recording does not replay to what the model and the tools did, nothing was written: %v", d), err)
		}
	}
	return g, nil
}

func isLog(name string) bool {
	return name == logFile || laterLog().MatchString(name)
}

// sameRun compares what the model streamed and how the tools answered in two
// logs.
func sameRun(name string, live, replayed []byte) (*Difference, error) {
	var streams [2][]record
	for i, data := range [][]byte{live, replayed} {
		lines, err := parseLines(name, data)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			switch l.text("type") {
			case "assistant/chunk", "tool/call", "tool/result":
				streams[i] = append(streams[i], l)
			}
		}
	}
	if d := compareLines(name, streams[0], streams[1]); len(d) > 0 {
		return &d[0], nil
	}
	return nil, nil
}

// replaceFile writes a file, or removes it when there is nothing to hold.
func replaceFile(path string, data []byte) error {
	if len(data) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(path, data, 0o644)
}
