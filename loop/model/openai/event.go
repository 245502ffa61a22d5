package openai

import (
	"bytes"

	"acp-agent/session"
)

// event is what one chat.completion.chunk says. Fields that are null, missing
// or of a kind that they never have are absent here.
type event struct {
	content, reasoning, refusal string
	// hasReasoning: the field was there with a string, which may be empty.
	hasReasoning bool
	calls        []callDelta
	finish       string
	usage        *session.Usage
	// failure is an error object, or the whole event when it is one.
	failure []byte
	// inner is set while the parts of a part are read, which have no parts.
	inner bool
}

// callDelta is a piece of a tool call.
type callDelta struct {
	index    int64
	hasIndex bool
	id, name string
	args     string
}

// parse reads one event. It reports false for what is not JSON.
func (e *event) parse(data []byte) (rest []byte, ok bool) {
	calls := e.calls[:0]
	*e = event{calls: calls}
	s := scanner{b: data}
	if s.peek() != '{' {
		// An array or a scalar is nothing that a model says; it is ignored when
		// it is JSON at all.
		s.skip()
		return data[s.i:], !s.bad
	}
	s.enter('{')
	choices, odd := false, false
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "choices":
			choices = true
			if s.enter('[') {
				for ok := s.first(']'); ok; ok = s.next(']') {
					e.choice(&s)
				}
			}
		case "usage":
			if !s.null() {
				e.usage = usage(&s)
			}
		case "error":
			if !s.null() {
				e.failure = s.raw()
			}
		case "object", "type":
			odd = string(s.raw()) == `"error"` || odd
		case "detail", "message", "msg", "errors", "error_msg":
			if !s.null() {
				odd = true
				s.skip()
			}
		default:
			s.skip()
		}
	}
	if s.bad {
		return nil, false
	}
	if e.failure == nil && odd && !choices {
		e.failure = data[:s.i]
	}
	return data[s.i:], true
}

// choice reads one element of choices. Only the first choice counts: no more
// are asked for.
func (e *event) choice(s *scanner) {
	before := *e
	var index int64
	if !s.enter('{') {
		return
	}
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "index":
			index, _ = s.int()
		case "delta", "message":
			e.delta(s)
		case "finish_reason":
			if v, ok := s.str(); ok {
				e.finish = v
			}
		case "usage":
			// Moonshot puts it here.
			if !s.null() {
				e.usage = usage(s)
			}
		case "error":
			// OpenRouter reports a failure of the provider behind it so.
			if !s.null() {
				e.failure = s.raw()
			}
		default:
			s.skip()
		}
	}
	if index > 0 {
		*e = before
	}
}

func (e *event) delta(s *scanner) {
	if !s.enter('{') {
		return
	}
	var alt string
	var hasAlt bool
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "content":
			if s.peek() == '[' {
				e.parts(s)
			} else if v, ok := s.str(); ok {
				e.content += v
			}
		case "reasoning_content":
			if v, ok := s.str(); ok {
				e.reasoning, e.hasReasoning = e.reasoning+v, true
			}
		case "reasoning":
			// vLLM and OpenRouter name it so; some send both, with one content.
			alt, hasAlt = s.str()
		case "refusal":
			e.refusal, _ = s.str()
		case "tool_calls":
			if s.enter('[') {
				for ok := s.first(']'); ok; ok = s.next(']') {
					e.call(s)
				}
			}
		case "function_call":
			if s.peek() == '{' {
				d := callDelta{}
				function(s, &d)
				e.calls = append(e.calls, d)
			} else {
				s.skip()
			}
		default:
			s.skip()
		}
	}
	if hasAlt && e.reasoning == "" {
		e.reasoning, e.hasReasoning = alt, true
	}
}

// parts reads content that is an array of parts (Mistral).
func (e *event) parts(s *scanner) {
	s.enter('[')
	for ok := s.first(']'); ok; ok = s.next(']') {
		if !s.enter('{') {
			continue
		}
		for ok := s.first('}'); ok; ok = s.next('}') {
			switch string(s.key()) {
			case "text":
				v, _ := s.str()
				e.content += v
			case "thinking":
				e.thinking(s)
			default:
				s.skip()
			}
		}
	}
}

func (e *event) thinking(s *scanner) {
	if s.peek() == '"' {
		v, _ := s.str()
		e.reasoning, e.hasReasoning = e.reasoning+v, true
		return
	}
	if s.peek() == '[' && !e.inner {
		inner := event{inner: true}
		inner.parts(s)
		e.reasoning, e.hasReasoning = e.reasoning+inner.content, true
		return
	}
	s.skip()
}

func (e *event) call(s *scanner) {
	d := callDelta{}
	if !s.enter('{') {
		return
	}
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "index":
			d.index, d.hasIndex = s.int()
		case "id":
			d.id, _ = s.str()
		case "function":
			function(s, &d)
		default:
			s.skip()
		}
	}
	e.calls = append(e.calls, d)
}

func function(s *scanner, d *callDelta) {
	if !s.enter('{') {
		return
	}
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "name":
			d.name, _ = s.str()
		case "arguments":
			if s.peek() == '{' {
				// Some servers send the object itself.
				d.args = string(bytes.TrimSpace(s.raw()))
			} else {
				d.args, _ = s.str()
			}
		default:
			s.skip()
		}
	}
}

// usage reads a usage object. prompt_tokens holds cache hits and cache writes,
// which session.Usage counts apart: InputTokens is what remains (deepseek-harness 0.1.1-rc.2, model client,
// "Usage"; openai-go CompletionUsagePromptTokensDetails). DeepSeek reports hits
// as prompt_cache_hit_tokens. Reasoning is part of completion_tokens.
func usage(s *scanner) *session.Usage {
	if !s.enter('{') {
		return nil
	}
	u := new(session.Usage)
	var prompt, hit, cached int64
	for ok := s.first('}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "prompt_tokens":
			prompt, _ = s.int()
		case "completion_tokens":
			u.OutputTokens, _ = s.int()
		case "prompt_cache_hit_tokens":
			hit, _ = s.int()
		case "prompt_tokens_details":
			if !s.enter('{') {
				continue
			}
			for ok := s.first('}'); ok; ok = s.next('}') {
				switch string(s.key()) {
				case "cached_tokens":
					cached, _ = s.int()
				case "cache_write_tokens":
					u.CacheWriteTokens, _ = s.int()
				default:
					s.skip()
				}
			}
		case "completion_tokens_details":
			if !s.enter('{') {
				continue
			}
			for ok := s.first('}'); ok; ok = s.next('}') {
				if string(s.key()) == "reasoning_tokens" {
					u.ReasoningTokens, _ = s.int()
				} else {
					s.skip()
				}
			}
		default:
			s.skip()
		}
	}
	u.CacheReadTokens = max(hit, cached)
	u.InputTokens = prompt - u.CacheReadTokens - u.CacheWriteTokens
	if u.InputTokens < 0 {
		// A server that counts hits apart from the prompt.
		u.InputTokens = prompt
	}
	return u
}
