package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// scenariosDir finds the reference's recordings beside the checkout.
func scenariosDir(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "shared", "reference", "scenarios")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("the reference's scenarios are not beside this checkout")
		}
		dir = up
	}
}

// committed reads, without the parser, what a recording committed: the text and
// the calls of each assistant message that was not cut, in order.
func committed(t *testing.T, path string) (messages []string, errors int) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var row struct {
			Type string
			Data struct {
				Interrupted bool
				Message     session.LoggedMessage
				Chunk       struct {
					Type   string
					Reason struct{ Kind string }
				}
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			continue // rows of other shapes
		}
		switch row.Type {
		case "assistant/message":
			if !row.Data.Interrupted {
				messages = append(messages, said(row.Data.Message.Content))
			}
		case "assistant/chunk":
			if row.Data.Chunk.Type == "finish" && row.Data.Chunk.Reason.Kind == "error" {
				errors++
			}
		}
	}
	return messages, errors
}

func said(blocks []session.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		switch b.Type {
		case session.BlockToolCall:
			out.WriteString("call " + b.ID + " " + b.Name + " " + b.Arguments + "\n")
		default:
			out.WriteString(string(b.Type) + " " + b.Text + "\n")
		}
	}
	return out.String()
}

// TestReferenceScenarios replays each recording of the reference and compares
// what is assembled with what it committed.
func TestReferenceScenarios(t *testing.T) {
	root := scenariosDir(t)
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			dir := filepath.Join(root, e.Name())
			want, wantErrors := committed(t, filepath.Join(dir, "session.jsonl"))
			r := open(t, dir)
			cwd := t.TempDir()
			var got []string
			gotErrors := 0
			rest(t, r, func(ctx context.Context) {
				var a session.Assembler
				failed := false
				for c, err := range r.Stream(ctx, &model.Request{Cwd: cwd}) {
					if err != nil {
						failed = true
						if ctx.Err() == nil {
							gotErrors++
						}
						continue
					}
					a.Add(&c)
				}
				if !failed {
					got = append(got, said(a.Blocks(a.Finish() != session.FinishMaxTokens)))
				}
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-committed +replayed:\n%s", diff)
			}
			if gotErrors != wantErrors {
				t.Errorf("%d failures were replayed, %d recorded", gotErrors, wantErrors)
			}
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReferenceFailures(t *testing.T) {
	root := scenariosDir(t)
	for name, want := range map[string][]string{
		"error-finish":         {"error auth 0 0s retryable=false \"simulated provider error (HTTP 401)\"\n"},
		"empty-response-retry": {"usage 0 0\nerror empty_response 0 0s retryable=true \"model returned a completed response with no content\"\n", "text \"Recovered.\"\nusage 12 3\nfinish stop\n"},
	} {
		r := open(t, filepath.Join(root, name))
		var got []string
		for r.Leftover() > 0 {
			got = append(got, play(t.Context(), r, &model.Request{}))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	r := open(t, filepath.Join(root, "handshake"))
	if s := play(t.Context(), r, &model.Request{}); !strings.HasPrefix(s, "error replay") {
		t.Errorf("handshake: %s", s)
	}
}
