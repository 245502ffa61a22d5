package file

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountedEnv names the file that TestMountedFile writes to in namespaces of its own.
const mountedEnv = "ACP_AGENT_TEST_MOUNTED"

// A file that is mounted by itself, as containers do, cannot be renamed over.
func TestMountedFile(t *testing.T) {
	if path := os.Getenv(mountedEnv); path != "" {
		if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("no file can be mounted here: %v", err)
		}
		if err := Disk([]string{filepath.Dir(path)}).WriteFile(t.Context(), path, []byte("new")); err != nil {
			t.Error(err)
		}
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("much longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMountedFile$", "-test.v")
	cmd.Env = append(os.Environ(), mountedEnv+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Skipf("no namespaces can be made here: %v", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("no file can be mounted here")
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "new" {
		t.Fatalf("the file holds %q, %v", got, err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left beside it: %v", names)
	}
}
