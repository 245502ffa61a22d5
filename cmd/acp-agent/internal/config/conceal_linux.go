package config

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// concealed blanks variables where the kernel shows the environment that a process
// was started with (/proc/PID/environ, proc(5)) to every other program of its user:
// to each command that the model runs, and to what a repository has it run. The
// process itself works with copies, which Go has made before main.
func concealed(names []string) error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	start, end, err := envBlock(string(stat))
	if err != nil {
		return err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	block := make([]byte, end-start)
	if _, err := mem.ReadAt(block, start); err != nil {
		return err
	}
	for at := 0; at < len(block); {
		entry, _, _ := bytes.Cut(block[at:], []byte{0})
		if name, value, ok := bytes.Cut(entry, []byte("=")); ok && slices.Contains(names, string(name)) {
			if _, err := mem.WriteAt(make([]byte, len(value)), start+int64(at+len(name)+1)); err != nil {
				return err
			}
		}
		at += len(entry) + 1
	}
	return nil
}

// maxEnvBlock is far above what a kernel takes of arguments and environment.
const maxEnvBlock = 64 << 20

// envBlock reads the addresses of the environment out of /proc/PID/stat: fields 50
// and 51, of which the second is the name in parentheses and may hold anything.
func envBlock(stat string) (start, end int64, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 49 {
		return 0, 0, fmt.Errorf("/proc/self/stat has %d fields behind the name, 49 are needed", len(fields))
	}
	if start, err = strconv.ParseInt(fields[47], 10, 64); err != nil {
		return 0, 0, err
	}
	if end, err = strconv.ParseInt(fields[48], 10, 64); err != nil {
		return 0, 0, err
	}
	if start <= 0 || end < start || end-start > maxEnvBlock {
		return 0, 0, fmt.Errorf("/proc/self/stat places the environment from %d to %d", start, end)
	}
	return start, end, nil
}
