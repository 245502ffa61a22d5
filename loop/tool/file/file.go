// Package file holds the tools for files: read, write and edit.
//
// One layer decides what a file's content is, tool.Env.Files: the disk, or an
// editor's buffers, for all three tools alike (search looks at the disk, see
// there). What a path is, whether it exists, is a directory or too large, is
// asked of the disk. A file of 10 MiB and more is read from the disk too, since
// an editor would have to send it whole.
//
// The tools stay inside the session's roots, and overwrite only what the session
// has read in this version (tool.Seen), except where nothing would be lost.
package file

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"acp-agent/loop/tool"
)

// Tools returns edit, read and write. They keep no state of their own.
func Tools() []tool.Tool { return []tool.Tool{editTool{}, readTool{}, writeTool{}} }

// viewTime bounds the reading for a preview: the permission question must come
// even when an editor does not answer.
const viewTime = 5 * time.Second

// current is a file as it is now.
type current struct {
	place  tool.Place
	exists bool
	// data is the content; nil with large set when it is over maxWhole.
	data  []byte
	large bool
	size  int64
}

// load reads the file that is to be changed. The error is for the model.
func load(ctx context.Context, env *tool.Env, path string) (current, error) {
	p, err := tool.Locate(env, path)
	if err != nil {
		return current{place: p}, err
	}
	c := current{place: p}
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An editor may have a buffer that was never saved. An empty answer is
		// what some editors give for a file that is not there.
		if data, err := env.Files.ReadFile(ctx, p.Path); err == nil && len(data) > 0 {
			c.exists, c.data = true, data
		}
	case err != nil:
		return c, fault(p, err)
	case info.IsDir():
		return c, fmt.Errorf("%s is a directory.", p.Shown) //nolint:staticcheck // a sentence for the model
	case !info.Mode().IsRegular():
		return c, fault(p, tool.ErrSpecial)
	case info.Size() > maxWhole:
		c.exists, c.large, c.size = true, true, info.Size()
	default:
		c.exists = true
		if c.data, err = env.Files.ReadFile(ctx, p.Path); err != nil {
			return c, fault(p, err)
		}
	}
	return c, nil
}

// fault words an error for the model.
func fault(p tool.Place, err error) error {
	return fmt.Errorf("%s cannot be used: %s.", p.Shown, tool.Cause(err)) //nolint:staticcheck // a sentence for the model
}

func sumDisk(ctx context.Context, p tool.Place) (sum [sha256.Size]byte, err error) {
	f, _, err := p.Open()
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// contextReader ends a long read when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// foreseen is a refusal as View knows it: what may only be due to its own short
// time is none.
func foreseen(ctx context.Context, err error) string {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	return err.Error()
}

// observed says whether the file may be changed: it was read, in this version.
// The error is for the model and says what to do.
func (c current) observed(ctx context.Context, env *tool.Env) error {
	if c.size > maxRead {
		return fmt.Errorf("%s is over %d MiB, too large to overwrite. Use bash.", c.place.Shown, maxRead>>20) //nolint:staticcheck // a sentence for the model
	}
	sum := sha256.Sum256(c.data)
	if c.large {
		var err error
		if sum, err = sumDisk(ctx, c.place); err != nil {
			return fault(c.place, err)
		}
	}
	seen, same := env.Seen.KnownSum(c.place.Real, sum)
	switch {
	case !seen:
		return fmt.Errorf("%s exists and has not been read. Read it first, then try again.", c.place.Shown) //nolint:staticcheck // a sentence for the model
	case !same:
		return fmt.Errorf("%s has changed since it was read. Read it again, then try again.", c.place.Shown) //nolint:staticcheck // a sentence for the model
	}
	return nil
}

// follow takes the file as known that was known before hooks ran. A file that
// cannot be read now is one to read again.
func follow(ctx context.Context, env *tool.Env, path string) bool {
	c, err := load(ctx, env, path)
	if err != nil || !c.exists || c.size > maxRead {
		return false
	}
	sum := sha256.Sum256(c.data)
	if c.large {
		if sum, err = sumDisk(ctx, c.place); err != nil {
			return false
		}
	}
	if seen, same := env.Seen.KnownSum(c.place.Real, sum); !seen || same {
		return false
	}
	env.Seen.NoteSum(c.place.Real, sum)
	return true
}

// put writes the new content and remembers that it is known.
func (c current) put(ctx context.Context, env *tool.Env, data []byte) error {
	if !c.exists {
		// An editor that is asked to save may not make directories.
		r, err := c.place.OpenRoot()
		if err != nil {
			return fault(c.place, err)
		}
		err = makeParents(r, c.place.Rel)
		r.Close()
		if err != nil {
			return fault(c.place, err)
		}
	}
	if err := env.Files.WriteFile(ctx, c.place.Path, data); err != nil {
		return fmt.Errorf("%s could not be written: %s.", c.place.Shown, tool.Cause(err)) //nolint:staticcheck // a sentence for the model
	}
	env.Seen.Note(c.place.Real, data)
	return nil
}

// maxOriginal bounds the old content that is kept for hooks.
const maxOriginal = 128 << 10

func (c current) original() *string {
	if !c.exists || c.large || len(c.data) > maxOriginal {
		return nil
	}
	s := string(c.data)
	return &s
}

// lines counts the lines of a text.
func lines(data []byte) int {
	n := 0
	for i, b := range data {
		if b == '\n' || i == len(data)-1 {
			n++
		}
	}
	return n
}

// response encodes a hooks response; its parts always encode.
func response(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}
