//go:build unix

package hooks

import (
	"testing"
	"time"
)

// BenchmarkSpawn runs a hook process that reads its input and says nothing: what
// a hook costs beside what it does.
func BenchmarkSpawn(b *testing.B) {
	p := &Process{Argv: []string{"sh", "-c", "read x"}, Env: testEnv, Dir: b.TempDir(), Timeout: time.Minute, Stdin: []byte("{}\n")}
	b.ReportAllocs()
	for b.Loop() {
		if e := RunProcess(b.Context(), b.Context(), p); e.StartErr != nil || e.Code != 0 {
			b.Fatalf("%+v", e)
		}
	}
}
