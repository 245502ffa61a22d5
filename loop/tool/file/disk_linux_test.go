package file

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountedEnv names the directory that TestMounts works in, in namespaces of its own.
const mountedEnv = "ACP_AGENT_TEST_MOUNTED"

// TestMounts writes where renames and writes fail: to a file that is mounted by
// itself, as containers do, and to a file system that is full.
func TestMounts(t *testing.T) {
	if dir := os.Getenv(mountedEnv); dir != "" {
		t.Run("file", func(t *testing.T) { testMountedFile(t, dir) })
		t.Run("full", func(t *testing.T) { testFull(t, dir) })
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMounts$", "-test.v")
	cmd.Env = append(os.Environ(), mountedEnv+"="+dir)
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
	switch {
	case err != nil:
		t.Fatal(err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip("nothing can be mounted here")
	}
}

func testMountedFile(t *testing.T, dir string) {
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("much longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	if err := Disk([]string{dir}).WriteFile(t.Context(), path, []byte("new")); err != nil {
		t.Error(err)
	}
	holds(t, path, "new")
}

func testFull(t *testing.T, dir string) {
	dir = filepath.Join(dir, "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Disk([]string{dir}).WriteFile(t.Context(), path, bytes.Repeat([]byte("x"), 1<<20))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	holds(t, path, "old")
}

// holds says what a file must hold, with nothing beside it.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("beside it: %v, %v", names, err)
	}
}
