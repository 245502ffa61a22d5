package main

import "errors"

// snapshotCmd is acp-agent snapshot.
type snapshotCmd struct {
	RunCmd  snapshotRunCmd     `cmd:"" name:"run" help:"Run scenarios and compare wire, log, model requests and files."`
	Record  snapshotRecordCmd  `cmd:"" help:"Run a scenario with a real model and keep what it answered."`
	Refresh snapshotRefreshCmd `cmd:"" help:"Run scenarios and rewrite what they expect."`
}

type snapshotRunCmd struct {
	Scenarios []string `arg:"" name:"scenario" help:"Scenario folders, or folders of them."`
	Agent     string   `help:"Command line of another ACP agent to run them against." placeholder:"CMD"`
}

type snapshotRecordCmd struct {
	Scenario string `arg:"" help:"Scenario folder with an input.json; --model says which model."`
}

type snapshotRefreshCmd struct {
	Scenarios []string `arg:"" name:"scenario" help:"Scenario folders, or folders of them."`
}

var errSnapshot = errors.New("snapshot: not there yet")

func (snapshotRunCmd) Run(a *app) error     { return errSnapshot }
func (snapshotRecordCmd) Run(a *app) error  { return errSnapshot }
func (snapshotRefreshCmd) Run(a *app) error { return errSnapshot }
