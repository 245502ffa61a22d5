package loop

import (
	"context"

	"acp-agent/loop/tool"
)

// turnFiles are the session's files for a call of a turn: whatever waits for
// them, the preview of a permission question too, ends with the turn.
type turnFiles struct {
	files tool.Files
	turn  context.Context
}

// ReadFile implements tool.Files.
func (f turnFiles) ReadFile(ctx context.Context, path string) ([]byte, error) {
	ctx, stop := f.within(ctx)
	defer stop()
	return f.files.ReadFile(ctx, path)
}

// WriteFile implements tool.Files.
func (f turnFiles) WriteFile(ctx context.Context, path string, data []byte) error {
	ctx, stop := f.within(ctx)
	defer stop()
	return f.files.WriteFile(ctx, path, data)
}

// Direct implements tool.Direct.
func (f turnFiles) Direct() bool {
	d, ok := f.files.(tool.Direct)
	return ok && d.Direct()
}

// within returns ctx ended by the turn as well.
func (f turnFiles) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(f.turn, func() { cancel(context.Cause(f.turn)) })
	return ctx, func() { stop(); cancel(nil) }
}
