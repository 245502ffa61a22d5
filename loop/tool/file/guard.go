package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"acp-agent/loop/tool"
)

// Guarded is a client's files with the disk as the judge of what the client says.
// It is safe for concurrent use and lasts as long as its session.
type Guarded struct {
	read, write tool.Files
	disk        *DiskFiles

	mu sync.Mutex
	// synced holds, per path, the disk's text when the client last agreed with
	// it: a client that still says that after the disk has moved on has an old
	// buffer, not unsaved edits.
	synced map[string][sha256.Size]byte
	// deaf and idle: reading or writing through the client has come to nothing
	// once, and is not tried again. silent: it was deaf by not answering at all.
	deaf, idle, silent bool
}

// answerTime is how long a client may take over a file. A read asks nobody, and
// no editor needs as long. A write may be put to the person, who has all the time
// in the world, unless the client has been silent before.
const answerTime = 30 * time.Second

// Guard returns the files of a session whose client offers to read, to write or
// both; nil stands for what it does not offer.
//
// An editor's unsaved text counts. But some clients answer every read with
// nothing, fail at each call, accept a write and drop it, or serve a buffer from
// before a command changed the file. So a read that fails, is not answered within
// the time, or is empty for a file that is not, falls back to the disk; a buffer
// that equals what the disk held before is outdated, and the disk counts; a write
// is looked for on the disk and in the client, and done on the disk when it is in
// neither.
//
// A write that the client answers with an error is refused: whoever decides there,
// a person or a policy, was perhaps not asked anything else. It is done on the disk
// only where that is no refusal: the client cannot do it (tool.ErrUnable), does not
// answer, or has just allowed this very call (tool.Consented).
func Guard(read, write tool.Files, disk *DiskFiles) *Guarded {
	return &Guarded{
		read: read, write: write, disk: disk,
		deaf: read == nil, idle: write == nil,
		synced: map[string][sha256.Size]byte{},
	}
}

// ReadFile returns the client's text, where there is reason to believe it.
func (g *Guarded) ReadFile(ctx context.Context, path string) ([]byte, error) {
	disk, diskErr := g.disk.ReadFile(ctx, path)
	if g.lost(&g.deaf) || diskErr == nil && !isText(disk) { // JSON carries text only
		return disk, diskErr
	}
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	buffer, err := g.read.ReadFile(limited, path)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case limited.Err() != nil:
		// Nobody has cancelled: a client that does not answer is like one that fails.
		g.giveUp(&g.silent)
		g.giveUp(&g.deaf)
		return disk, diskErr
	}
	if diskErr != nil {
		// Not on the disk, or not for us to read: what the client says is all
		// there is. Its error here says nothing about its other answers.
		if err != nil || len(buffer) == 0 {
			return nil, diskErr
		}
		return buffer, nil
	}
	if err != nil {
		g.giveUp(&g.deaf)
		return disk, nil
	}
	if len(buffer) == 0 && len(disk) > 0 {
		return disk, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, theirs := textSum(disk), textSum(buffer)
	was, known := g.synced[path]
	if now == theirs {
		g.synced[path] = now
		return disk, nil
	}
	if known && was != now && was == theirs {
		return disk, nil
	}
	return buffer, nil
}

// textSum identifies a text whatever its line ends and byte order mark: editors
// keep both beside the buffer, and hand out text without them.
func textSum(data []byte) [sha256.Size]byte {
	return sha256.Sum256(bytes.ReplaceAll(bytes.TrimPrefix(data, bom), []byte("\r\n"), []byte("\n")))
}

// WriteFile writes through the client and sees that the content has arrived.
func (g *Guarded) WriteFile(ctx context.Context, path string, data []byte) error {
	// The disk's rules hold for what a client is asked to write, too.
	if _, err := tool.Within(g.disk.roots, path); err != nil {
		return err
	}
	if !g.lost(&g.idle) && isText(data) {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if g.lost(&g.silent) {
			limited, cancel = context.WithTimeout(ctx, answerTime)
		}
		defer cancel()
		err := g.write.WriteFile(limited, path, data)
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case err == nil && g.arrived(ctx, path, data):
			return nil
		case err != nil && limited.Err() == nil && !errors.Is(err, tool.ErrUnable):
			// A no. The disk is no way round it, unless the client has just allowed
			// this very write: then it is what the client cannot do.
			if !tool.Consented(ctx) {
				return fmt.Errorf("the client refused it (%w), and it was not written past the client; where the client cannot write files at all, client.files = false in the config file leaves it out", err)
			}
		default:
			g.giveUp(&g.idle)
		}
	}
	if err := g.disk.WriteFile(ctx, path, data); err != nil {
		return err
	}
	now, err := g.disk.ReadFile(ctx, path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, data) {
		return errors.New("something else changed it meanwhile")
	}
	g.note(path, data)
	return nil
}

// arrived: the content is on the disk, or in a buffer that the client has not
// saved.
func (g *Guarded) arrived(ctx context.Context, path string, data []byte) bool {
	if disk, err := g.disk.ReadFile(ctx, path); err == nil && bytes.Equal(disk, data) {
		g.note(path, data)
		return true
	}
	if g.lost(&g.deaf) {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	buffer, err := g.read.ReadFile(limited, path)
	if limited.Err() != nil && ctx.Err() == nil {
		g.giveUp(&g.silent)
		g.giveUp(&g.deaf)
	}
	return err == nil && textSum(buffer) == textSum(data) && len(data) > 0
}

func (g *Guarded) note(path string, data []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.synced[path] = textSum(data)
}

func (g *Guarded) lost(flag *bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *flag
}

func (g *Guarded) giveUp(flag *bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*flag = true
}
