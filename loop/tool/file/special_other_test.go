//go:build !unix

package file

import "testing"

func special(*testing.T, string) {}
