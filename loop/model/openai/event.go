package openai

import (
	"bytes"

	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// event is what one chat.completion.chunk says. Fields that are null, missing
// or of a kind that they never have are absent here.
type event struct {
	content, reasoning, refusal string
	// hasReasoning: the field was there with a string, which may be empty.
	hasReasoning bool
	// details are the elements of reasoning_details.
	details [][]byte
	calls   []callDelta
	finish  string
	usage   *session.Usage
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
	// sealed are the members that go back with the call, as one object.
	sealed string
}

// parse reads one event. It reports false for what is not JSON.
func (e *event) parse(data []byte) (rest []byte, ok bool) {
	calls := e.calls[:0]
	*e = event{calls: calls}
	s := wire.NewScanner(data)
	if s.Peek() != '{' {
		// An array or a scalar is nothing that a model says; it is ignored when
		// it is JSON at all.
		s.Skip()
		return s.Rest(), !s.Bad()
	}
	s.Enter('{')
	choices, odd := false, false
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "choices":
			choices = true
			if s.Enter('[') {
				for ok := s.First(']'); ok; ok = s.Next(']') {
					e.choice(&s)
				}
			}
		case "usage":
			if !s.Null() {
				e.usage = usage(&s)
			}
		case "error":
			e.failed(s.Raw())
		case "base_resp":
			// MiniMax: a failure behind status 200 (platform.minimax.io, error codes).
			if raw := s.Raw(); failedBase(raw) {
				e.failure = raw
			}
		case "object", "type":
			odd = string(s.Raw()) == `"error"` || odd
		case "detail", "message", "msg", "errors", "error_msg":
			if !s.Null() {
				odd = true
				s.Skip()
			}
		default:
			s.Skip()
		}
	}
	if s.Bad() {
		return nil, false
	}
	rest = s.Rest()
	if e.failure == nil && odd && !choices {
		e.failure = data[:len(data)-len(rest)]
	}
	return rest, true
}

// failed takes an error, unless it is one of the ways to say that there is none.
func (e *event) failed(raw []byte) {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]", "false", "0":
		return
	}
	e.failure = raw
}

// failedBase reports whether MiniMax's base_resp is that of a failure.
func failedBase(raw []byte) bool {
	s := wire.NewScanner(raw)
	var code int64
	if s.Peek() == '{' && s.Enter('{') {
		for ok := s.First('}'); ok; ok = s.Next('}') {
			if string(s.Key()) == "status_code" {
				code, _ = s.Int()
			} else {
				s.Skip()
			}
		}
	}
	return code != 0
}

// choice reads one element of choices. Only the first choice counts: no more
// are asked for.
func (e *event) choice(s *wire.Scanner) {
	before := *e
	var index int64
	if !s.Enter('{') {
		return
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "index":
			index, _ = s.Int()
		case "delta", "message":
			e.delta(s)
		case "finish_reason":
			if v, ok := s.Str(); ok {
				e.finish = v
			}
		case "usage":
			// Moonshot puts it here.
			if !s.Null() {
				e.usage = usage(s)
			}
		case "error":
			// OpenRouter reports a failure of the provider behind it so.
			e.failed(s.Raw())
		default:
			s.Skip()
		}
	}
	if index > 0 {
		*e = before
	}
}

func (e *event) delta(s *wire.Scanner) {
	if !s.Enter('{') {
		return
	}
	var alt string
	var hasAlt bool
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "content":
			if s.Peek() == '[' {
				e.parts(s)
			} else if v, ok := s.Str(); ok {
				e.content += v
			}
		case "reasoning_content":
			if v, ok := s.Str(); ok {
				e.reasoning, e.hasReasoning = e.reasoning+v, true
			}
		case "reasoning":
			// vLLM and OpenRouter name it so; some send both, with one content.
			alt, hasAlt = s.Str()
		case "reasoning_details":
			if s.Enter('[') {
				for ok := s.First(']'); ok; ok = s.Next(']') {
					e.details = append(e.details, s.Raw())
				}
			}
		case "refusal":
			e.refusal, _ = s.Str()
		case "tool_calls":
			if s.Enter('[') {
				for ok := s.First(']'); ok; ok = s.Next(']') {
					e.call(s)
				}
			}
		case "function_call":
			if s.Peek() == '{' {
				d := callDelta{}
				function(s, &d)
				e.calls = append(e.calls, d)
			} else {
				s.Skip()
			}
		default:
			s.Skip()
		}
	}
	if hasAlt && e.reasoning == "" {
		e.reasoning, e.hasReasoning = alt, true
	}
}

// parts reads content that is an array of parts (Mistral).
func (e *event) parts(s *wire.Scanner) {
	s.Enter('[')
	for ok := s.First(']'); ok; ok = s.Next(']') {
		if !s.Enter('{') {
			continue
		}
		for ok := s.First('}'); ok; ok = s.Next('}') {
			switch string(s.Key()) {
			case "text":
				v, _ := s.Str()
				e.content += v
			case "thinking":
				e.thinking(s)
			default:
				s.Skip()
			}
		}
	}
}

func (e *event) thinking(s *wire.Scanner) {
	if s.Peek() == '"' {
		v, _ := s.Str()
		e.reasoning, e.hasReasoning = e.reasoning+v, true
		return
	}
	if s.Peek() == '[' && !e.inner {
		inner := event{inner: true}
		inner.parts(s)
		e.reasoning, e.hasReasoning = e.reasoning+inner.content, true
		return
	}
	s.Skip()
}

func (e *event) call(s *wire.Scanner) {
	d := callDelta{}
	if !s.Enter('{') {
		return
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch key := s.Key(); string(key) {
		case "index":
			d.index, d.hasIndex = s.Int()
		case "id":
			d.id, _ = s.Str()
		case "function":
			function(s, &d)
		default:
			if sealedMember(key) {
				d.seal(string(key), s)
			} else {
				s.Skip()
			}
		}
	}
	e.calls = append(e.calls, d)
}

func function(s *wire.Scanner, d *callDelta) {
	if !s.Enter('{') {
		return
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "name":
			d.name, _ = s.Str()
		case "arguments":
			if s.Peek() == '{' {
				// Some servers send the object itself.
				d.args = string(bytes.TrimSpace(s.Raw()))
			} else {
				d.args, _ = s.Str()
			}
		default:
			s.Skip()
		}
	}
}

// usage reads a usage object. prompt_tokens holds cache hits and cache writes,
// which session.Usage counts apart: InputTokens is what remains (deepseek-harness 0.1.1-rc.2, model client,
// "Usage"; openai-go CompletionUsagePromptTokensDetails). DeepSeek reports hits
// as prompt_cache_hit_tokens. Reasoning is part of completion_tokens.
func usage(s *wire.Scanner) *session.Usage {
	if !s.Enter('{') {
		return nil
	}
	u := new(session.Usage)
	var prompt, hit, cached int64
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "prompt_tokens":
			prompt, _ = s.Int()
		case "completion_tokens":
			u.OutputTokens, _ = s.Int()
		case "prompt_cache_hit_tokens":
			hit, _ = s.Int()
		case "prompt_tokens_details":
			if !s.Enter('{') {
				continue
			}
			for ok := s.First('}'); ok; ok = s.Next('}') {
				switch string(s.Key()) {
				case "cached_tokens":
					cached, _ = s.Int()
				case "cache_write_tokens":
					u.CacheWriteTokens, _ = s.Int()
				default:
					s.Skip()
				}
			}
		case "completion_tokens_details":
			if !s.Enter('{') {
				continue
			}
			for ok := s.First('}'); ok; ok = s.Next('}') {
				if string(s.Key()) == "reasoning_tokens" {
					u.ReasoningTokens, _ = s.Int()
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
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
