package replay

import (
	"fmt"
	"regexp"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// A placeholder stands for what no recording can know, such as an id that the
// agent made up in this run: {{fromRequest:REGEX}} is the first group (or the
// whole) of the last match in the strings of the request, joined by line ends.
// Of a run of closing braces the last two end it, so that a regex may end in
// {8} (reference deepseek-harness 0.1.1-rc.2, replay).
const placeholderOpen = "{{fromRequest:"

// cwdToken stands for the session's directory in a scenario, whose header has it
// in the directory's place: models name files by absolute paths, and each run has
// a directory of its own. In any other log it is text.
const cwdToken = "{{cwd}}"

// templated reports whether any string of the chunks has a placeholder.
func templated(chunks []session.Chunk, scenario bool) bool {
	has := func(s string) bool {
		return strings.Contains(s, placeholderOpen) || scenario && strings.Contains(s, cwdToken)
	}
	for i := range chunks {
		c := &chunks[i]
		if has(c.Text) || c.Block != nil && (has(c.Block.Text) || has(c.Block.Arguments)) {
			return true
		}
		for _, t := range c.Texts {
			if has(t) {
				return true
			}
		}
	}
	return false
}

// resolve returns the chunks with their placeholders replaced.
func resolve(chunks []session.Chunk, req *model.Request, scenario bool) ([]session.Chunk, error) {
	corpus := requestText(req)
	substitute := func(s, corpus string, args bool) (string, error) {
		if scenario {
			s = strings.ReplaceAll(s, cwdToken, inside(req.Cwd, args))
		}
		return substitute(s, corpus, args)
	}
	out := make([]session.Chunk, len(chunks))
	for i, c := range chunks {
		args := c.Type == session.ChunkToolCall || c.Type == session.ChunkPackedToolCall
		var err error
		if c.Text, err = substitute(c.Text, corpus, args); err != nil {
			return nil, err
		}
		if c.Texts != nil {
			texts := make([]string, len(c.Texts))
			for j, t := range c.Texts {
				if texts[j], err = substitute(t, corpus, args); err != nil {
					return nil, err
				}
			}
			c.Texts = texts
		}
		if c.Block != nil {
			b := *c.Block
			if b.Text, err = substitute(b.Text, corpus, false); err != nil {
				return nil, err
			}
			if b.Arguments, err = substitute(b.Arguments, corpus, true); err != nil {
				return nil, err
			}
			c.Block = &b
		}
		out[i] = c
	}
	return out, nil
}

// substitute replaces the placeholders of one string. In arguments, which are
// JSON text, what comes in is escaped as the inside of a JSON string.
func substitute(s, corpus string, args bool) (string, error) {
	if !strings.Contains(s, placeholderOpen) {
		return s, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, placeholderOpen)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		end := strings.Index(rest, "}}")
		if end < 0 {
			return "", fmt.Errorf("the placeholder %.40q is not closed", placeholderOpen+rest)
		}
		for end+2 < len(rest) && rest[end+2] == '}' {
			end++
		}
		pattern := rest[:end]
		re, err := regexp.Compile(pattern)
		if err != nil {
			return "", fmt.Errorf("the placeholder's pattern: %w", err)
		}
		all := re.FindAllStringSubmatch(corpus, -1)
		if len(all) == 0 {
			return "", fmt.Errorf("the placeholder's pattern %q matches nothing in the request", pattern)
		}
		m := all[len(all)-1]
		value := m[0]
		if len(m) > 1 {
			value = m[1]
		}
		out.WriteString(inside(value, args))
		s = rest[end+2:]
	}
}

// inside is a value as it stands in arguments, or as it is.
func inside(value string, args bool) string {
	if !args {
		return value
	}
	quoted := session.AppendString(nil, value)
	return string(quoted[1 : len(quoted)-1])
}

// requestText joins the strings of a request, the system prompt first, so that
// the last match is the latest thing said.
func requestText(req *model.Request) string {
	var out strings.Builder
	add := func(s string) {
		if s != "" {
			out.WriteString(s)
			out.WriteByte('\n')
		}
	}
	add(req.Head.System)
	var blocks func([]session.Block)
	blocks = func(bs []session.Block) {
		for i := range bs {
			b := &bs[i]
			for _, s := range []string{b.Text, b.ID, b.Name, b.Arguments, b.CallID, b.URI, b.Title, b.Description} {
				add(s)
			}
			blocks(b.Content)
		}
	}
	for i := range req.Messages {
		blocks(req.Messages[i].Content)
	}
	return out.String()
}
