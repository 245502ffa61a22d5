//go:build !linux

package tool

// straight is false where the system cannot tell at once.
func straight(string) bool { return false }
