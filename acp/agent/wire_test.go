package agent_test

import (
	"acp-agent/acp/agent"
	"acp-agent/loop"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/ask"
)

func extraTools(p *agent.SessionParams) []tool.Tool {
	if p.Forms == nil {
		return nil
	}
	return []tool.Tool{ask.New()}
}

func wire(cfg *loop.Config, p *agent.SessionParams) { cfg.Forms, cfg.Elicit = p.Forms, p.Elicit }
