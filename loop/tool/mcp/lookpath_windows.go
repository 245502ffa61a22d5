package mcp

import (
	"fmt"
	"os/exec"
)

// lookPath finds the program, with the extensions of PATHEXT.
func lookPath(command string, _ []string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", fmt.Errorf("the program %q cannot be found: %w", command, err)
	}
	return path, nil
}
