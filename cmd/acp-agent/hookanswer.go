package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"acp-agent/hooks"
)

// answerOf is the structured answer that the tool would give in a session, for
// hooks check: hooks read their members of it, not its text. It is made of the
// arguments, of what the file holds now, and of the output that was given. nil for
// tools that have none.
func answerOf(name string, input json.RawMessage, output string, code int, dir string) json.RawMessage {
	var in struct {
		Path       string          `json:"file_path"`
		Content    string          `json:"content"`
		OldString  string          `json:"old_string"`
		NewString  string          `json:"new_string"`
		ReplaceAll bool            `json:"replace_all"`
		Todos      json.RawMessage `json:"todos"`
		URL        string          `json:"url"`
	}
	_ = json.Unmarshal(input, &in) // what is of another type stays empty, as in a call that fails
	if in.Path != "" && !filepath.IsAbs(in.Path) {
		in.Path = filepath.Join(dir, in.Path)
	}
	var now *string
	if data, err := os.ReadFile(in.Path); err == nil {
		text := string(data)
		now = &text
	}
	var v any
	switch name {
	case "bash":
		v = hooks.BashResponse{Stdout: output, ExitCode: code}
	case "read":
		r := hooks.ReadResponse{Path: in.Path, Content: output, StartLine: 1}
		if output == "" && now != nil {
			r.Content = strings.TrimSuffix(*now, "\n")
		}
		r.NumLines = strings.Count(r.Content, "\n") + 1
		r.TotalLines = r.NumLines
		v = r
	case "write":
		v = hooks.WriteResponse{Path: in.Path, Content: in.Content, Created: now == nil, Original: now}
	case "edit":
		v = hooks.EditResponse{Path: in.Path, OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll, Original: now}
	case "glob":
		v = hooks.GlobResponse{Files: strings.Fields(output)}
	case "grep":
		v = hooks.GrepResponse{Content: output, Matches: strings.Count(output, "\n")}
	case "todo_write":
		v = hooks.TodoResponse{New: in.Todos}
	case "web_fetch":
		v = hooks.FetchResponse{URL: in.URL, Status: 200, Bytes: len(output), Content: output}
	default:
		return nil
	}
	data, _ := json.Marshal(v) // nothing in it can fail
	return data
}
