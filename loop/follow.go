package loop

import (
	"slices"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// textHookChanged stands in the result of a call whose file hooks have changed.
const textHookChanged = "A hook has changed the file after that."

// follow has the tool take in what the hooks have made of its file, and reports
// whether they have. Format-on-save hooks rewrite each file that is edited, and
// the edits that come next would all be refused (Claude Code 2.1.90 fixed it).
func (t *turn) follow(j *job, out *hooks.Outcome) bool {
	f, ok := j.tool.(tool.Follower)
	if !ok || len(out.Runs) == 0 || !j.started || j.result.IsError {
		return false
	}
	return f.Follow(t.ctx, j.env, j.input)
}

// withLine adds a line to the text of a result.
func withLine(content []session.Block, line string) []session.Block {
	n := len(content) - 1
	if n < 0 || content[n].Type != session.BlockText {
		return append(slices.Clip(content), session.Text(line))
	}
	content = slices.Clone(content)
	content[n].Text += "\n" + line
	return content
}
