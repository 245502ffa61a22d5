package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"acp-agent/loop/tool"
)

type editArgs struct {
	FilePath   string `json:"file_path" jsonschema_description:"The file, absolute or relative to the working directory."`
	OldString  string `json:"old_string" jsonschema_description:"The text to replace, exactly as it is in the file, without line numbers. It must be in the file once, unless replace_all is set. Empty to make a new file."`
	NewString  string `json:"new_string" jsonschema_description:"The text to put there. Empty to remove the old text."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema_description:"Replace every occurrence."`
}

// editResponse is hooks.EditResponse.
type editResponse struct {
	Path       string  `json:"path"`
	OldString  string  `json:"oldString"`
	NewString  string  `json:"newString"`
	ReplaceAll bool    `json:"replaceAll"`
	Original   *string `json:"original"`
}

//go:embed schemas/edit.json
var editSchemaFile string

var editSchema = tool.Schema(editSchemaFile)

type editTool struct{}

func (editTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "edit",
		Description: "Replaces text in a file that has been read before. Everything outside the replaced text stays as it is, " +
			"and new lines get the file's line ends.",
		Schema: editSchema(), Kind: tool.KindEdit,
	}
}

func (editTool) Check(input json.RawMessage) error {
	_, err := decodeEdit(input)
	return err
}

func decodeEdit(input json.RawMessage) (editArgs, error) {
	a, err := tool.Decode[editArgs](input)
	if err == nil && a.FilePath == "" {
		err = &tool.ArgumentError{Faults: []string{`"file_path" is empty`}}
	}
	return a, err
}

// plan is what an edit would do.
type plan struct {
	current
	after []byte
	count int
}

// planEdit works out an edit without doing it. The error is for the model.
func planEdit(ctx context.Context, env *tool.Env, a editArgs) (plan, error) {
	c, err := load(ctx, env, a.FilePath)
	p := plan{current: c}
	switch {
	case err != nil:
		return p, err
	case a.OldString == "" && !c.large && len(c.data) == 0:
		p.after = []byte(a.NewString)
		return p, nil
	case !c.exists:
		return p, errors.New(missing(c.place) + " To make a new file leave old_string empty.")
	case a.OldString == "":
		return p, fmt.Errorf("old_string is empty, but %s is not. Give the text to replace, or use write.", c.place.Shown) //nolint:staticcheck // a sentence for the model
	case c.large:
		return p, fmt.Errorf("%s is over %d MiB, too large to edit. Use bash.", c.place.Shown, maxWhole>>20) //nolint:staticcheck // a sentence for the model
	case !isText(c.data):
		return p, fmt.Errorf("%s is not UTF-8 text, so it cannot be edited. Use bash.", c.place.Shown) //nolint:staticcheck // a sentence for the model
	}
	old := normalise(a.OldString)
	if old == normalise(a.NewString) {
		return p, errors.New("old_string and new_string are the same; nothing would change.") //nolint:staticcheck // a sentence for the model
	}
	t := newText(c.data)
	at, overlap := t.find(old)
	switch {
	case len(at) == 0:
		return p, notFound(c, t, old)
	case len(at) > 1 && !a.ReplaceAll:
		return p, fmt.Errorf("old_string is in %s %d times. Add lines round it until it is there once, or set replace_all.", c.place.Shown, len(at)) //nolint:staticcheck // a sentence for the model
	case overlap && !a.ReplaceAll:
		return p, fmt.Errorf("old_string overlaps with itself in %s, so the place is not clear. Add lines round it.", c.place.Shown) //nolint:staticcheck // a sentence for the model
	}
	p.after, p.count = t.splice(at, len(old), a.NewString), len(at)
	return p, nil
}

// refusal says why the edit is not done; unfit is why it does not fit the file.
// What has not been read comes first: the model cannot mend an old_string for a
// file that it has not seen, nor may it learn from the answer what is in one.
func (p plan) refusal(ctx context.Context, env *tool.Env, unfit error) error {
	if p.exists && len(p.data) > 0 {
		if err := p.observed(ctx, env); err != nil {
			return err
		}
	}
	return unfit
}

func notFound(c current, t text, old string) error {
	hint := "Read the file again and copy the text exactly, without line numbers."
	if n := t.similar(old); n > 0 {
		hint = fmt.Sprintf("Its first line is like line %d of the file; compare white space and what follows.", n)
	}
	return fmt.Errorf("old_string is not in %s. %s", c.place.Shown, hint)
}

// Follow implements tool.Follower.
func (editTool) Follow(ctx context.Context, env *tool.Env, input json.RawMessage) bool {
	a, err := decodeEdit(input)
	return err == nil && follow(ctx, env, a.FilePath)
}

func (editTool) View(env *tool.Env, input json.RawMessage) tool.View {
	a, err := decodeEdit(input)
	v := tool.View{Title: tool.Title("Edit " + a.FilePath)}
	if err != nil {
		return v
	}
	ctx, cancel := context.WithTimeout(context.Background(), viewTime)
	defer cancel()
	p, err := planEdit(ctx, env, a)
	if p.place.Path == "" {
		v.Refused = foreseen(ctx, err)
		return v
	}
	v.Title = tool.Title("Edit " + p.place.Shown)
	if err == nil {
		v.Diffs = p.diffs(p.after)
	} else {
		v.Refused = foreseen(ctx, p.refusal(ctx, env, err))
	}
	v.Locations = changed(p.place.Path, v.Diffs)
	return v
}

func (editTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := decodeEdit(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	p, err := planEdit(ctx, env, a)
	if err := p.refusal(ctx, env, err); err != nil {
		return tool.Fail(err.Error()), nil
	}
	if err := p.put(ctx, env, p.after); err != nil {
		return tool.Fail(err.Error()), nil
	}
	text := fmt.Sprintf("Updated %s (%d %s).", p.place.Shown, p.count, plural(p.count, "replacement"))
	if a.OldString == "" {
		n := lines(p.after)
		text = fmt.Sprintf("Created %s (%d %s).", p.place.Shown, n, plural(n, "line"))
	}
	res := tool.Text(text)
	res.Meta.Diffs = p.diffs(p.after)
	res.Meta.Locations = changed(p.place.Path, res.Meta.Diffs)
	res.Meta.Response = response(editResponse{p.place.Path, a.OldString, a.NewString, a.ReplaceAll, p.original()})
	return res, nil
}
