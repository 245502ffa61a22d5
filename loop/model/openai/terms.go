package openai

import (
	"bytes"
	"hash/fnv"
	"net/http"
	"strings"

	"acp-agent/loop/model"
)

// terms are what an endpoint has made known of what it takes of a model's
// requests, by refusing one. There are too many servers of this wire to know them
// by name, and what one wants another refuses: the request is written once more on
// the other terms, which hold for the model as long as the client lives. No output
// has come yet, and the projection of the log is the same one.
type terms uint16

const (
	// noUsage: stream_options is left out.
	noUsage terms = 1 << iota
	// noCacheKey: prompt_cache_key is left out (Groq, sipeed/picoclaw#1196).
	noCacheKey
	// otherLimit: the bound of the output has its other name.
	otherLimit
	// noLimit: there is no bound; the one that was sent is more than the model
	// gives, or than the window has room for.
	noLimit
	// shortIDs: ids of calls are nine letters and digits (Mistral, and servers
	// with its tokenizer; anomalyco/opencode#1680).
	shortIDs
	// toolNames: a result names its tool (Gemini, vectorize-io/hindsight#187).
	toolNames
	// nullContent: the content of a message of calls alone is null and not empty
	// (Bedrock and what stands before it, anomalyco/opencode#17395).
	nullContent
	// alternate: a user's message follows an assistant's and no other. Templates of
	// Mistral's and Google's models want that, wherever they are served, and
	// Mistral's own endpoint does behind results (aaif-goose/goose#5998,
	// mistralai/mistral-vibe#1006).
	alternate
	// flat: content is one string (servers that know no parts).
	flat
	// askedReasoning: each message with calls has reasoning_content (Moonshot,
	// mastra-ai/mastra#12592; DeepSeek's models behind gateways).
	askedReasoning
	// lessEffort: max and xhigh are high; noEffort: none is sent. A person sets one
	// for all models, and few servers say which theirs have.
	lessEffort
	noEffort
	// noReasoning: no message has it (Groq, Cerebras, vellum-ai/vellum-assistant#42635).
	noReasoning
)

func (t terms) has(one terms) bool { return t&one != 0 }

// wantsReasoning reports whether a model's maker asks for its reasoning to be sent
// back, wherever it is served (guides on thinking of DeepSeek, Moonshot, Z.ai and
// Xiaomi).
func wantsReasoning(name string) bool {
	name = strings.ToLower(name)
	for _, family := range []string{"deepseek", "kimi", "glm", "mimo"} {
		if strings.Contains(name, family) {
			return true
		}
	}
	return false
}

// after returns the terms after a refusal of a request on these, and whether they
// are others. said is the body of the refusal, head what the request had before its
// messages; guessed: reasoning was sent back because of the model's name alone.
func (t terms) after(refusal *model.Error, said, head []byte, guessed bool) (terms, bool) {
	switch refusal.Status {
	case 0: // in an answer
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return t, false
	}
	names := func(member string) bool { return bytes.Contains(said, []byte(member)) }
	sent := func(member string) bool { return bytes.Contains(head, []byte(`"`+member+`":`)) }
	now := t
	switch overflow := refusal.Kind == model.KindContextOverflow; {
	case names("length of 9"):
		now |= shortIDs
	case names("content") && (names("must be a string") || names("expected a string") || names("be a valid string")):
		now |= flat
	case names("roles must alternate"), names("role 'user' after role"):
		now |= alternate
	case names("function_response.name"):
		now |= toolNames
	case names("must be non-empty"), names("content field") && names("is empty"):
		now |= nullContent
	case names("reasoning_content") && (names("missing") || names("passed back") || names("Missing")):
		now = now&^noReasoning | askedReasoning
	case names("reasoning_content"):
		now = now&^askedReasoning | noReasoning
	case sent("reasoning_effort") && ofEffort(said):
		if now |= noEffort; !t.has(lessEffort) && (bytes.Contains(head, []byte(`"reasoning_effort":"max"`)) || bytes.Contains(head, []byte(`"reasoning_effort":"xhigh"`))) {
			now = t | lessEffort
		}
	case sent("thinking") && names("thinking") && strange(said):
		now |= noEffort
	case names("stream_options") && sent("stream_options"):
		now |= noUsage
	case names("prompt_cache_key") && sent("prompt_cache_key"):
		now |= noCacheKey
	case names("max_completion_tokens") && sent("max_tokens") && !overflow && !t.has(otherLimit):
		now |= otherLimit
	case names("max_tokens") && sent("max_completion_tokens") && !overflow && !t.has(otherLimit):
		now |= otherLimit
	case (names("max_tokens") || names("max_completion_tokens")) && (sent("max_tokens") || sent("max_completion_tokens")):
		now |= noLimit
	case guessed && refusal.Kind == model.KindInvalidRequest && !t.has(askedReasoning):
		now |= noReasoning // a refusal that names nothing may be of that
	}
	return now, now != t
}

// ofEffort reports whether a refusal is of the effort: OpenAI's and Groq's name the
// member, xAI's has it in one word, Ollama's speaks of what it stands for.
func ofEffort(said []byte) bool {
	s := strings.ToLower(string(said))
	for _, words := range []string{"reasoning_effort", "reasoning effort", "reasoningeffort", "reasoning value", "support thinking", "support reasoning"} {
		if strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// strange reports whether a refusal is of something that the server does not know.
func strange(said []byte) bool {
	s := strings.ToLower(string(said))
	for _, words := range []string{"extra inputs", "unsupported", "not supported", "unrecognized", "unknown", "unexpected", "not permitted"} {
		if strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// shortID is an id of nine letters and digits.
func shortID(id string) string {
	const length, digits = 9, "0123456789abcdefghijklmnopqrstuvwxyz"
	if len(id) == length && strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0 {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	out := make([]byte, length)
	for n, i := h.Sum64(), 0; i < length; i++ {
		out[i], n = digits[n%36], n/36
	}
	return string(out)
}
