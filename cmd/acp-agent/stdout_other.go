//go:build !linux

package main

import "io"

// protocolOut is the writer of the protocol.
func protocolOut(w io.Writer) io.Writer { return w }
