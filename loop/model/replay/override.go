package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// entryJSON is one entry of replay.override.json.
type entryJSON struct {
	Kind      string          `json:"kind"`
	Chunks    []session.Chunk `json:"chunks"`
	Message   string          `json:"message"`
	Code      string          `json:"code"`
	ReadyFile string          `json:"readyFile"`
}

// override applies the file to the first session's script: a bare array
// replaces it, {patches: [{at, entry}]} replaces the calls at those 0-based
// places; at may be one past the end, which appends (reference deepseek-harness 0.1.1-rc.2, replay).
func override(path string, s *script) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the replay override: %w", err)
	}
	if err := applyOverride(data, s); err != nil {
		return fmt.Errorf("reading the replay override %s: %w", path, err)
	}
	return nil
}

func applyOverride(data []byte, s *script) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var entries []entryJSON
		if err := json.Unmarshal(data, &entries); err != nil {
			return err
		}
		calls := make([]call, len(entries))
		for i := range entries {
			var err error
			if calls[i], err = entries[i].call(i, s.scenario); err != nil {
				return err
			}
		}
		s.calls = calls
		return nil
	}
	var doc struct {
		Patches []struct {
			At    *int      `json:"at"`
			Entry entryJSON `json:"entry"`
		} `json:"patches"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	if doc.Patches == nil {
		return errors.New(`it is neither an array of entries nor an object with "patches"`)
	}
	seen := map[int]bool{}
	for i, p := range doc.Patches {
		if p.At == nil || *p.At < 0 || *p.At > len(s.calls) {
			return fmt.Errorf("patch %d: at must be from 0 to %d", i, len(s.calls))
		}
		if seen[*p.At] {
			return fmt.Errorf("patch %d: call %d is patched twice", i, *p.At)
		}
		seen[*p.At] = true
		c, err := p.Entry.call(*p.At, s.scenario)
		if err != nil {
			return err
		}
		if *p.At == len(s.calls) {
			s.calls = append(s.calls, c)
		} else {
			s.calls[*p.At] = c
		}
	}
	return nil
}

func (e *entryJSON) call(i int, scenario bool) (call, error) {
	c := call{where: fmt.Sprintf("entry %d of replay.override.json", i), chunks: e.Chunks}
	for _, ch := range e.Chunks {
		if !known(ch.Type) {
			return call{}, fmt.Errorf("entry %d has a chunk of unknown type %q", i, ch.Type)
		}
	}
	switch e.Kind {
	case "chunks":
		c.end = endError
		c.err = model.Errorf(model.KindStreamClosed, "the recorded stream ends here")
		if n := len(e.Chunks); n > 0 && e.Chunks[n-1].Type == session.ChunkFinish {
			c.end, c.err = endFinish, nil
			if fin := &e.Chunks[n-1]; fin.Finish == session.FinishError {
				c.chunks, c.end = e.Chunks[:n-1], endError
				f := failure{Message: "the recorded answer ended in an error"}
				if fin.Failure != nil {
					f.Message, f.Code = fin.Failure.Message, fin.Failure.Code
				}
				c.err = f.error(kindOf(f.Code).Retryable())
			}
		}
	case "throw":
		f := failure{Message: e.Message, Code: e.Code}
		c.end, c.err = endError, f.error(kindOf(e.Code).Retryable())
	case "hang":
		c.end, c.readyFile = endHang, e.ReadyFile
		if len(c.chunks) == 0 {
			c.chunks = []session.Chunk{
				{Type: session.ChunkBlockStart, BlockType: session.BlockText},
				{Type: session.ChunkText, Text: hangText},
			}
		}
	default:
		return call{}, fmt.Errorf("entry %d has unknown kind %q", i, e.Kind)
	}
	c.templated = templated(c.chunks, scenario)
	return c, nil
}
