package jsonl_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// A log that somebody else had his hands on is noticed with the next write, and at
// the latest when it is closed; what comes after is not acknowledged.
func TestOtherHands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system keeps others' hands off an open file")
	}
	for name, tc := range map[string]struct {
		do   func(path string) error
		want error
	}{
		"deleted":  {os.Remove, session.ErrGone},
		"moved":    {func(p string) error { return os.Rename(p, p+".old") }, session.ErrGone},
		"replaced": {func(p string) error { _ = os.Remove(p); return os.WriteFile(p, []byte("{}\n"), 0o600) }, session.ErrGone},
		"cut":      {func(p string) error { return os.Truncate(p, 10) }, session.ErrCorrupt},
		"written to": {func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x\n")
			return errors.Join(err, f.Close())
		}, session.ErrCorrupt},
		"untouched": {func(string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir(), jsonl.OS{})
			for _, idle := range []bool{false, true} {
				l := create(t, s, "a")
				appendAll(t, l, turn(1, "one")...)
				check(t, l.Sync())
				check(t, tc.do(path(s, "a")))
				if !idle {
					appendAll(t, l, turn(2, "two")...)
					if err := l.Sync(); !errors.Is(err, tc.want) {
						t.Errorf("Sync: %v, want %v", err, tc.want)
					}
					if _, err := l.Append(turn(3, "three")...); !errors.Is(err, tc.want) {
						t.Errorf("Append after it: %v, want %v", err, tc.want)
					}
				}
				if err := l.Close(); !errors.Is(err, tc.want) {
					t.Errorf("Close, idle %v: %v, want %v", idle, err, tc.want)
				}
				_ = os.Remove(path(s, "a"))
			}
		})
	}
}
