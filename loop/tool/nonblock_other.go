//go:build !unix

package tool

const nonblock = 0
