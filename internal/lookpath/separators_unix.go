//go:build unix

package lookpath

const separators = "/"
