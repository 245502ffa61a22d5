package file

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

type writeArgs struct {
	FilePath string `json:"file_path" jsonschema_description:"The file, absolute or relative to the working directory. Missing directories are made."`
	Content  string `json:"content" jsonschema_description:"The whole content, written exactly as it is."`
}

// writeResponse is hooks.WriteResponse.
type writeResponse struct {
	Path     string  `json:"path"`
	Content  string  `json:"content"`
	Created  bool    `json:"created"`
	Original *string `json:"original"`
}

//go:embed schemas/write.json
var writeSchemaFile string

var writeSchema = tool.Schema(writeSchemaFile)

type writeTool struct{}

func (writeTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "write",
		Description: "Writes a whole file, new or existing. An existing file must have been read before. " +
			"To change a part of a file use edit.",
		Schema: writeSchema(), Kind: tool.KindEdit,
	}
}

func (writeTool) Check(input json.RawMessage) error {
	_, err := decodeWrite(input)
	return err
}

func decodeWrite(input json.RawMessage) (writeArgs, error) {
	a, err := tool.Decode[writeArgs](input)
	if err == nil && a.FilePath == "" {
		err = &tool.ArgumentError{Faults: []string{`"file_path" is empty`}}
	}
	return a, err
}

// Follow implements tool.Follower.
func (writeTool) Follow(ctx context.Context, env *tool.Env, input json.RawMessage) bool {
	a, err := decodeWrite(input)
	return err == nil && follow(ctx, env, a.FilePath)
}

func (writeTool) View(env *tool.Env, input json.RawMessage) tool.View {
	a, err := decodeWrite(input)
	v := tool.View{Title: tool.Title("Write " + a.FilePath)}
	if err != nil {
		return v
	}
	ctx, cancel := context.WithTimeout(context.Background(), viewTime)
	defer cancel()
	c, err := load(ctx, env, a.FilePath)
	if err != nil {
		v.Refused = foreseen(ctx, err)
		return v
	}
	v.Title = "Write " + c.place.Shown
	v.Diffs = c.diffs([]byte(a.Content))
	if v.Diffs == nil && !c.same([]byte(a.Content)) {
		v.Title += " (too large or binary, no diff)"
	}
	v.Title = tool.Title(v.Title)
	v.Locations = changed(c.place.Path, v.Diffs)
	return v
}

// same: the file holds exactly this.
func (c current) same(data []byte) bool {
	return c.exists && !c.large && bytes.Equal(c.data, data)
}

func (c current) diffs(data []byte) []session.Diff {
	if c.large {
		return nil
	}
	return diffs(c.place.Path, c.data, data, c.exists)
}

func (writeTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := decodeWrite(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	c, err := load(ctx, env, a.FilePath)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	data := []byte(a.Content)
	// Nothing is lost where the content is the same, or where there was none.
	if c.exists && !c.same(data) && (c.large || len(c.data) > 0) {
		if err := c.observed(ctx, env); err != nil {
			return tool.Fail(err.Error()), nil
		}
	}
	if err := c.put(ctx, env, data); err != nil {
		return tool.Fail(err.Error()), nil
	}
	verb := "Created"
	if c.exists {
		verb = "Updated"
	}
	n := lines(data)
	res := tool.Text(fmt.Sprintf("%s %s (%d %s).", verb, c.place.Shown, n, plural(n, "line")))
	res.Meta.Diffs = c.diffs(data)
	res.Meta.Locations = changed(c.place.Path, res.Meta.Diffs)
	res.Meta.Response = response(writeResponse{c.place.Path, a.Content, !c.exists, c.original()})
	return res, nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
