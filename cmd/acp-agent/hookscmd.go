package main

import "errors"

// hooksCmd is acp-agent hooks.
type hooksCmd struct {
	List    hooksListCmd    `cmd:"" help:"List every hook, where it comes from, and whether it would run."`
	Check   hooksCheckCmd   `cmd:"" help:"Run the hooks of an event as a session would, and show what they were given and what they said."`
	Trust   hooksTrustCmd   `cmd:"" help:"Trust this project's hooks as they are now."`
	Untrust hooksUntrustCmd `cmd:"" help:"Forget that this project's hooks were trusted."`
}

type hooksListCmd struct {
	Dir  string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print one JSON object a line."`
}

type hooksCheckCmd struct {
	Event string `arg:"" help:"Event, such as Stop or PreToolUse."`
	Dir   string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	Tool  string `help:"Tool of a tool event, such as bash." placeholder:"NAME"`
	Input string `help:"Arguments of the tool, as JSON." placeholder:"JSON"`
	JSON  bool   `name:"json" help:"Print one JSON object a line."`
}

type hooksTrustCmd struct {
	Dir string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	Yes bool   `short:"y" help:"Do not ask."`
}

type hooksUntrustCmd struct {
	Dir string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
}

var errHooks = errors.New("hooks: not there yet")

func (hooksListCmd) Run(a *app) error    { return errHooks }
func (hooksCheckCmd) Run(a *app) error   { return errHooks }
func (hooksTrustCmd) Run(a *app) error   { return errHooks }
func (hooksUntrustCmd) Run(a *app) error { return errHooks }
