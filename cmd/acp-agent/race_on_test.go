//go:build race

package main

// raceEnabled: the race detector makes each start of the command ten times as slow.
const raceEnabled = true
