package hooks

import (
	"errors"
	"fmt"
	"io"
	"os"

	"acp-agent/internal/files"
)

// MaxConfig bounds a file that says something about hooks; a larger one is no
// such file.
const MaxConfig = 16 << 20

// ReadConfig reads a config file that somebody else may have put there. What is
// no regular file is refused before it is opened: a pipe or a device would hang
// the start of a session or never end.
func ReadConfig(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case fi.IsDir():
		return nil, errors.New("it is a directory")
	case !fi.Mode().IsRegular():
		return nil, errors.New("it is a pipe or a device, not a file")
	case fi.Size() > MaxConfig:
		return nil, tooLarge()
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Files such as those of /proc have a size of 0 and any content.
	data, err := io.ReadAll(io.LimitReader(f, MaxConfig+1))
	if err == nil && len(data) > MaxConfig {
		return nil, tooLarge()
	}
	return data, err
}

// Cause is an error without the path, for messages that name it already.
func Cause(err error) error { return files.Cause(err) }

func tooLarge() error { return fmt.Errorf("it has more than %d MiB", MaxConfig>>20) }
