//go:build !unix

package jsonl_test

import (
	"os"
	"testing"
)

// stopped does nothing: processes cannot be stopped here.
func stopped(*testing.T, *os.Process, func()) {}
