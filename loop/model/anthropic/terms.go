package anthropic

import (
	"net/http"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// terms are what an endpoint has made known of what it takes, by refusing a
// request that would be refused for ever: the log cannot change. The request is
// sent once more on others; no output has come yet, and the projection of the log
// is the same one.
type terms struct {
	// bare: no thinking blocks. Anthropic's documents recommend that for one that
	// it refuses ("A 400 error says a thinking block signature is invalid"); it
	// holds for the session, as long as the client lives.
	bare bool
	// unsigned: each message with calls has thinking, signed or not. Moonshot and
	// DeepSeek demand that on this wire, too (NousResearch/hermes-agent#14018 and
	// #16149).
	unsigned bool
	// plain: how to think is not said. Models before Claude 4.6 take no adaptive
	// thinking (lidge-jun/opencodex#65), and not all of them are in the table.
	plain bool
	// most bounds the output, 0: nothing does. What is asked for of a model that is
	// not in the table may be more than it gives or has room for.
	most int64
}

// ofModel stands before a model's name in Client.terms.
const ofModel = "\x00model "

// lesser are the bounds that are tried where a higher one is refused.
var lesser = []int64{8192, 4096}

// key tells the terms apart on which messages are written otherwise, bare apart.
func (t terms) key() uint16 {
	if t.unsigned {
		return 1
	}
	return 0
}

// after returns the terms after a refusal on t, and whether they are others.
func (c *Client) after(t terms, refusal *model.Error, asked *session.Params) (terms, bool) {
	if refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity {
		return t, false
	}
	m, now := strings.ToLower(refusal.Message), t
	// What is said of how to think and of the bound is a guess.
	guessed := !lookup(c.cfg.Provider, asked.Model).known
	switch {
	case wantsThinking(m):
		now.unsigned = !t.bare // else it refuses both
	case refusesThinking(m):
		now.bare = true
	case guessed && refusesToThink(m):
		now.plain = true
	case guessed && asked.MaxTokens == 0 && c.cfg.MaxTokens == 0 && strings.Contains(m, "max_tokens"):
		for _, n := range lesser {
			if t.most == 0 || n < t.most {
				now.most = n
				break
			}
		}
	}
	return now, now != t
}

// refusesThinking recognises the refusals that name a thinking block: a
// signature that is foreign, tampered with or of another conversation, and a
// block that is not where it was.
func refusesThinking(m string) bool {
	return strings.Contains(m, "thinking") && (strings.Contains(m, "signature") || strings.Contains(m, "cannot be modified") ||
		strings.Contains(m, "expected `thinking`") || strings.Contains(m, "different conversation") || strings.Contains(m, "final block"))
}

// wantsThinking recognises the refusals of a history without it.
func wantsThinking(m string) bool {
	return strings.Contains(m, "thinking") && (strings.Contains(m, "must be passed back") || strings.Contains(m, "reasoning_content is missing"))
}

// refusesToThink recognises the refusals of what is asked for, thinking.
func refusesToThink(m string) bool {
	return strings.Contains(m, "adaptive") || strings.Contains(m, "output_config") || strings.Contains(m, "thinking") && (strings.Contains(m, "support") || strings.Contains(m, "extra inputs"))
}
