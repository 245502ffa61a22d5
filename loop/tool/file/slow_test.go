package file

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a client that never answers.
type silent struct{ asked, written int }

func (s *silent) ReadFile(ctx context.Context, _ string) ([]byte, error) {
	s.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *silent) WriteFile(ctx context.Context, _ string, _ []byte) error {
	s.written++
	<-ctx.Done()
	return ctx.Err()
}

// A client that lets the time of a preview pass is asked once, and the disk
// counts from then on: also for the edit itself, which has no limit.
func TestGuardGivesUpASilentClient(t *testing.T) {
	env := dir(t, map[string]string{"f": "disk\n"})
	s := &silent{}
	g := Guard(s, nil, Disk(env.Roots))
	path := filepath.Join(env.Cwd, "f")

	// A person's cancel says nothing about the client.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.ReadFile(cancelled, path); err == nil || s.asked != 1 {
		t.Errorf("cancelled: %v after %d questions", err, s.asked)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for range 2 {
		if data, err := g.ReadFile(late, path); err != nil || string(data) != "disk\n" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	if s.asked != 2 {
		t.Errorf("the client was asked %d times, want twice", s.asked)
	}
	if data, err := g.ReadFile(t.Context(), path); err != nil || string(data) != "disk\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

// A client that offers its files and never answers holds up neither a read nor,
// once it has been silent, a write.
func TestGuardWithASilentClient(t *testing.T) {
	env := dir(t, map[string]string{"f": "disk\n"})
	synctest.Test(t, func(t *testing.T) {
		s := &silent{}
		env.Files = Guard(s, s, Disk(env.Roots))
		if _, text := ok(t, env, readTool{}, "file_path", "f"); !strings.HasPrefix(text, "1: disk\n") {
			t.Errorf("read sees %q", text)
		}
		ok(t, env, editTool{}, "file_path", "f", "old_string", "disk", "new_string", "changed")
		ok(t, env, writeTool{}, "file_path", "new", "content", "new\n")
		if a, b := get(t, env, "f"), get(t, env, "new"); a != "changed\n" || b != "new\n" {
			t.Errorf("the files hold %q and %q", a, b)
		}
		if s.asked != 1 || s.written != 1 {
			t.Errorf("the client was asked to read %d times and to write %d times, want once each", s.asked, s.written)
		}
	})
}

// forgetful is a client that says that it has written, and then answers nothing.
type forgetful struct{ silent }

func (*forgetful) WriteFile(context.Context, string, []byte) error { return nil }

// A client that drops a write and does not answer when it is asked for it does not
// hold up the write, which is done on the disk.
func TestGuardDoesNotWaitForWhatWasWritten(t *testing.T) {
	env := dir(t, map[string]string{})
	synctest.Test(t, func(t *testing.T) {
		f := &forgetful{}
		g := Guard(f, f, Disk(env.Roots))
		begun := time.Now()
		if err := g.WriteFile(t.Context(), filepath.Join(env.Cwd, "new"), []byte("text\n")); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(begun); got > answerTime {
			t.Errorf("it took %v", got)
		}
		if got := get(t, env, "new"); got != "text\n" || f.asked != 1 {
			t.Errorf("the file holds %q after %d questions", got, f.asked)
		}
	})
}

// A file of any size is answered about at once: no more of it is read than shows.
// The files are sparse, and larger than anything that could be read in a test.
func TestHugeFiles(t *testing.T) {
	env := dir(t, map[string]string{"disk.img": "", "log": strings.Repeat("a line\n", 3000)})
	for _, name := range []string{"disk.img", "log"} {
		if err := os.Truncate(filepath.Join(env.Cwd, name), 1<<42); err != nil {
			t.Skip("no sparse files here: ", err)
		}
	}
	if _, text := ok(t, env, readTool{}, "file_path", "disk.img"); text != "[disk.img is a binary file; 4398046511104 bytes, not shown]" {
		t.Errorf("binary: %q", text)
	}
	for _, tt := range []struct {
		offset int
		last   string
	}{
		{1, "\n2000: a line\n\n[lines 1-2000 of a file of 4398046511104 bytes; go on with offset 2001]"},
		{990, "\n2989: a line\n\n[lines 990-2989 of a file of 4398046511104 bytes; go on with offset 2990]"},
	} {
		if _, text := ok(t, env, readTool{}, "file_path", "log", "offset", tt.offset); !strings.HasSuffix(text, tt.last) {
			t.Errorf("from %d: %q", tt.offset, text[max(0, len(text)-200):])
		}
	}
	if text := fails(t, env, readTool{}, "file_path", "log", "offset", 5000); !strings.Contains(text, "of the first 512 MiB") || !strings.Contains(text, "bash") {
		t.Errorf("past what is read: %q", text)
	}
	for _, name := range []string{"disk.img", "log"} {
		if text := fails(t, env, writeTool{}, "file_path", name, "content", "x"); !strings.Contains(text, "too large to overwrite") {
			t.Errorf("write over %s: %q", name, text)
		}
	}
}

// A file too large to be changed is not read for its preview, nor to say so: at
// the size of a disk image that takes minutes.
func TestLargeFilesAreNotReadInVain(t *testing.T) {
	env := dir(t, map[string]string{"image": ""})
	if err := os.Truncate(filepath.Join(env.Cwd, "image"), 1<<40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	input := func(kv map[string]any) json.RawMessage {
		b, err := json.Marshal(kv)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	v := writeTool{}.View(env, input(map[string]any{"file_path": "image", "content": "x"}))
	if v.Title != "Write image (too large or binary, no diff)" {
		t.Errorf("write: %q", v.Title)
	}
	edit := input(map[string]any{"file_path": "image", "old_string": "a", "new_string": "b"})
	if v := (editTool{}).View(env, edit); v.Title != "Edit image" || len(v.Locations) != 1 {
		t.Errorf("edit: %+v", v)
	}
	// Nothing is read if what is already cancelled can be answered.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := editTool{}.Run(ctx, env, edit)
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].Text, "too large to edit") {
		t.Errorf("edit: %q, %v", r.Content[0].Text, err)
	}
}
