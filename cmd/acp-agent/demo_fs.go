package main

import "embed"

//go:embed demo
var demoFS embed.FS
