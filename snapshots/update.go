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
