package anthropic

import (
	"slices"
	"strings"

	"acp-agent/session"
)

// think writes the output bound and how the model is to think, and returns the
// betas that this needs. The session's effort is off, low, medium, high or max,
// or what the person wrote; empty leaves it to the provider.
//
// Newer models leave the text of their thinking out unless display asks for its
// summary. Nobody would see the agent think, and some write their progress
// between tool calls there, so it is always asked for.
func (w *writer) think(p *session.Params) (betas []string) {
	effort := strings.ToLower(p.ReasoningEffort)
	switch effort {
	case "none":
		effort = "off"
	case "minimal":
		effort = "low"
	}
	limit := w.limit(p, effort)
	w.Raw(`,"max_tokens":`)
	w.Int(limit)
	if w.plain {
		return nil
	}
	how := w.info.thinking
	if how == thinkUnknown && isClaude(w.name) {
		// A model that is newer than the table: adaptive is what all take since
		// 4.6, while some refuse to be turned off.
		how = thinkAlways
	}
	switch how {
	case thinkUnknown:
		if effort == "off" {
			w.Raw(`,"thinking":{"type":"disabled"}`)
			return nil
		}
		if effort == "" {
			return nil
		}
		w.budget(effort, limit)
		return nil
	case thinkBudget:
		if effort == "" || effort == "off" {
			return nil
		}
		w.budget(effort, limit)
		return []string{betaInterleaved}
	}
	if effort == "off" {
		switch how {
		case thinkAdaptive:
			w.Raw(`,"thinking":{"type":"disabled"}`)
			return nil
		case thinkBetween:
			w.Raw(`,"thinking":{"type":"between_tools"}`)
			return nil
		}
		effort = "low"
	}
	w.Raw(`,"thinking":{"type":"adaptive","display":"summarized"`)
	if w.info.binds && w.c.official {
		// Compaction, a changed system prompt or tool list would otherwise have
		// every later request refused on newer accounts.
		w.Raw(`,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`)
		betas = append(betas, betaBinding)
	}
	w.Raw(`}`)
	if effort != "" {
		w.Raw(`,"output_config":{"effort":`)
		w.Str(nearest(effort, w.info.efforts))
		w.Raw(`}`)
	}
	return betas
}

// limit is the bound of the output, which the wire demands. It counts thinking.
func (w *writer) limit(p *session.Params, effort string) int64 {
	n := p.MaxTokens
	if n == 0 {
		n = w.c.cfg.MaxTokens
	}
	most := w.info.MaxOutput
	if w.most > 0 {
		most = w.most
	}
	switch {
	case n == 0 && w.most > 0:
		return w.most
	case n == 0 && most == 0:
		return unknownMaxTokens
	case n == 0 && (effort == "max" || effort == "xhigh"):
		return most
	case n == 0:
		n = usualMaxTokens
	}
	if most > 0 {
		n = min(n, most)
	}
	return n
}

// minBudget is the least that the wire takes.
const minBudget = 1024

// budget asks for thinking with a bound. The bound must be below that of the
// output; half of it is left to the answer.
func (w *writer) budget(effort string, limit int64) {
	n := int64(16_000)
	switch effort {
	case "low":
		n = 4_000
	case "high":
		n = 32_000
	case "xhigh", "max":
		n = limit
	}
	n = max(min(n, limit/2), minBudget)
	if n >= limit {
		return // no room to think in
	}
	w.Raw(`,"thinking":{"type":"enabled","budget_tokens":`)
	w.Int(n)
	w.Raw(`}`)
}

// nearest picks the wire's level for one of ours: itself where the model has it,
// else the one below. What is no level at all goes out as it is, for the
// provider to judge.
func nearest(effort string, levels []string) string {
	all := []string{"low", "medium", "high", "xhigh", "max"}
	if len(levels) == 0 {
		levels = all
	}
	for i := slices.Index(all, effort); i >= 0; i-- {
		if slices.Contains(levels, all[i]) {
			return all[i]
		}
	}
	return effort
}
