package snapshots

import "embed"

// Demo holds the two scenarios that acp-agent demo shows, so that it needs
// nothing but the program.
//
//go:embed testdata/scenarios/hook-cc-stop-continue testdata/scenarios/hook-codex-stop-continue
var Demo embed.FS
