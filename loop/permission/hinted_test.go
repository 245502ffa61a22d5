package permission

import "testing"

// Only an MCP server has said of its tool that it changes nothing: no server is
// behind a tool of this agent.
func TestHintIsTheServers(t *testing.T) {
	r := mustRules(t, nil, nil, nil)
	for name, told := range map[string]bool{"mcp__x__y": true, "web_fetch": false} {
		for _, mode := range []string{ModeDefault, ModePlan} {
			v := r.Decide(mode, Call{Name: name, Hinted: true})
			if v.Decision != Ask || (v.Reason != "") != told {
				t.Errorf("%s in mode %s: %+v", name, mode, v)
			}
		}
	}
}
