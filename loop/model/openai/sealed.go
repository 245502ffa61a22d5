package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// What a provider seals and wants back with the conversation, as it came. It is
// the model's own that reads it: to any other it is not sent.
//
// Gemini puts a thought signature beside a call, and refuses the next request when
// it is missing ("Function call is missing a thought_signature"): in extra_content
// at its own endpoint (ai.google.dev/gemini-api/docs/thought-signatures,
// crmne/ruby_llm#591), in provider_specific_fields behind LiteLLM
// (strands-agents/harness-sdk#2129). Such members of a call are its signature in
// the log, as one JSON object.
//
// OpenRouter, and gateways that do as it does, put what Claude, Gemini and GPT seal
// into reasoning_details, and refuse a request of Gemini's or Claude's without
// (openrouter.ai/docs, reasoning tokens, "Preserving reasoning blocks"). That array
// is the redacted part of a reasoning block in the log.

// sealedMember reports whether a member of a tool call goes back as it came.
func sealedMember(key []byte) bool {
	switch string(key) {
	case "extra_content", "provider_specific_fields", "thought_signature":
		return true
	}
	return false
}

// seal adds a member to a call's signature.
func (d *callDelta) seal(key string, s *wire.Scanner) {
	if s.Null() {
		return
	}
	raw := s.Raw()
	if len(raw) == 0 || string(raw) == "{}" || string(raw) == `""` {
		return
	}
	if d.sealed == "" {
		d.sealed = "{"
	} else {
		d.sealed = strings.TrimSuffix(d.sealed, "}") + ","
	}
	d.sealed += `"` + key + `":` + string(raw) + "}"
}

// details gathers reasoning_details. A stream has the parts in pieces, each with
// the type and the index of its part: texts are put together, for a signature is
// one of the whole text, and other members stand as they came first
// (agno-agi/agno#8794). What has no index is a part by itself.
type details struct{ parts []*detail }

type detail struct {
	key    string
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder
}

// growing are the members that come in pieces.
var growing = []string{"text", "summary", "data"}

// add takes one element of an array. It returns what the element says of the
// model's thinking.
func (ds *details) add(raw []byte) (says string) {
	d := detail{texts: map[string]*strings.Builder{}}
	if json.Unmarshal(raw, &d.fields) != nil || d.fields == nil {
		return ""
	}
	if index, ok := d.fields["index"]; ok && string(index) != "null" {
		d.key = string(d.fields["type"]) + string(index)
	}
	for _, name := range growing {
		var s string
		if f, ok := d.fields[name]; ok && string(f) != "null" && json.Unmarshal(f, &s) == nil {
			d.texts[name] = new(strings.Builder)
			d.texts[name].WriteString(s)
			delete(d.fields, name)
			if name != "data" {
				says += s
			}
		}
	}
	for i := len(ds.parts) - 1; i >= 0 && d.key != ""; i-- {
		if p := ds.parts[i]; p.key == d.key {
			p.join(&d)
			return says
		}
	}
	ds.parts = append(ds.parts, &d)
	return says
}

func (d *detail) join(more *detail) {
	for name, s := range more.texts {
		if d.texts[name] == nil {
			d.texts[name] = new(strings.Builder)
		}
		d.texts[name].WriteString(s.String())
	}
	for name, raw := range more.fields {
		if have, ok := d.fields[name]; !ok || string(have) == "null" {
			d.fields[name] = raw
		}
	}
}

// sealed returns the array as it goes back, empty where there is none.
func (ds *details) sealed() string {
	if len(ds.parts) == 0 {
		return ""
	}
	var all []map[string]json.RawMessage
	for _, d := range ds.parts {
		for name, s := range d.texts {
			d.fields[name] = session.AppendString(nil, s.String())
		}
		all = append(all, d.fields)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(all) != nil {
		return "" // cannot be: each member came as JSON
	}
	return strings.TrimSpace(out.String())
}

// own reports whether the model that is asked wrote the message. A log of another
// program may not say who did.
func (w *writer) own(m *session.Message) bool {
	return m.Provider == "" || m.Provider == w.c.cfg.Provider && (m.Model == "" || m.Model == w.name)
}

// details writes the parts of an own message's reasoning, and reports whether
// there are some.
func (w *writer) details(m *session.Message) bool {
	n := 0
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type != session.BlockReasoning || !wire.Parts(b) || !w.own(m) || !json.Valid([]byte(b.Redacted)) {
			continue
		}
		parts := strings.TrimSuffix(strings.TrimPrefix(b.Redacted, "["), "]")
		if parts == "" {
			continue
		}
		if n == 0 {
			w.Raw(`,"reasoning_details":[`)
		} else {
			w.Raw(`,`)
		}
		w.Raw(parts)
		n++
	}
	if n > 0 {
		w.Raw(`]`)
	}
	return n > 0
}

// sealed writes the members that stand beside an own message's call.
func (w *writer) sealed(m *session.Message, b *session.Block) {
	if strings.HasPrefix(b.Signature, "{") && w.own(m) && json.Valid([]byte(b.Signature)) {
		if members := strings.TrimSuffix(b.Signature[1:], "}"); members != "" {
			w.Raw(`,` + members)
		}
	}
}
