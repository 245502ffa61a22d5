package loop

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What hooks export is there in a command, and no more than a default in the
// scripts that it starts.
func TestEnvFileIsReadOncePerCommand(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exports := write("id.sh", "export STAGE=hook\nexport SEARCH=\"/hook:$SEARCH\"\nhello() { echo hello; }\n")
	mine := write("mine.sh", "export MINE=yes\n")
	script := write("script.sh", "echo $STAGE $SEARCH $MINE\n")
	const command = `hello; echo $STAGE $SEARCH; STAGE=mine bash "$0"; bash "$0"; echo ${BASH_ENV-none}`
	for _, tc := range []struct {
		environ []string
		want    string
	}{
		{nil, "hello\nhook /hook:/usr\nmine /hook:/usr\nhook /hook:/usr\nnone\n"},
		{[]string{"BASH_ENV=" + mine}, "hello\nhook /hook:/usr\nmine /hook:/usr yes\nhook /hook:/usr yes\n" + mine + "\n"},
	} {
		s := &Session{cfg: Config{EnvFile: exports, Environ: append([]string{"PATH=" + filepath.Dir(bash), "SEARCH=/usr"}, tc.environ...), Log: slog.New(slog.DiscardHandler)}}
		cmd := exec.Command(bash, "-c", command, script)
		cmd.Env = s.environ()
		out, err := cmd.CombinedOutput()
		if got := string(out); err != nil || got != tc.want {
			t.Errorf("%q: %v\n%s", tc.environ, err, got)
		}
	}
	if s := (&Session{cfg: Config{EnvFile: filepath.Join(dir, "none.sh")}}); strings.Contains(strings.Join(s.environ(), " "), "BASH_ENV") {
		t.Error("a file that is not there is read")
	}
}
