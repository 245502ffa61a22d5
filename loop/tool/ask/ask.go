// Package ask is the tool that puts questions to the person: a few at once, with
// options to choose from, several of them where that makes sense, and free text.
package ask

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"acp-agent/loop/tool"
)

type askArgs struct {
	Questions []question `json:"questions" jsonschema_description:"One to four questions, which the person answers together."`
}

type question struct {
	Question    string   `json:"question" jsonschema_description:"The whole question, ending in a question mark."`
	Header      string   `json:"header,omitempty" jsonschema_description:"A title of one to three words."`
	Options     []option `json:"options,omitempty" jsonschema_description:"Two to ten answers to choose from. The person can always write another one. Leave it out for free text."`
	MultiSelect bool     `json:"multiSelect,omitempty" jsonschema_description:"Whether several options may be chosen."`
}

type option struct {
	Label       string `json:"label" jsonschema_description:"The answer, in a few words."`
	Description string `json:"description,omitempty" jsonschema_description:"What choosing it means."`
}

//go:embed schemas/ask_user.json
var schemaFile string

var schema = tool.Schema(schemaFile)

// Tool is ask_user.
type Tool struct{}

// New returns the tool. It belongs only into sessions whose client shows forms;
// in another it refuses and tells the model what to do instead.
func New() Tool { return Tool{} }

// Spec describes the tool. It changes nothing, so it needs no permission.
func (Tool) Spec() tool.Spec {
	return tool.Spec{
		Name: "ask_user",
		Description: "Asks the person questions and waits for the answers. Use it when the work could go in ways " +
			"that only the person can choose between; do not ask what you can find out or decide yourself, " +
			"and never ask for passwords, keys or other secrets.",
		Schema: schema(), Kind: tool.KindOther, ReadOnly: true,
	}
}

// View shows the first question.
func (Tool) View(_ *tool.Env, input json.RawMessage) tool.View {
	a := tool.Peek[askArgs](input)
	if len(a.Questions) == 0 {
		return tool.View{Title: "Ask a question"}
	}
	return tool.View{Title: tool.Title("Ask: " + a.Questions[0].Question)}
}

// The bounds of one call: what a person can take in at a time.
const (
	maxQuestions = 4
	maxOptions   = 10
)

// Check refuses forms that nobody could answer, and questions for secrets.
func (Tool) Check(input json.RawMessage) error {
	a, err := tool.Decode[askArgs](input)
	if err != nil {
		return err
	}
	var faults []string
	if n := len(a.Questions); n < 1 || n > maxQuestions {
		faults = append(faults, fmt.Sprintf(`"questions" has %d entries and must have one to %d`, n, maxQuestions))
	}
	for i, q := range a.Questions {
		at := fmt.Sprintf(`"questions[%d]`, i)
		if strings.TrimSpace(q.Question) == "" {
			faults = append(faults, at+`.question" is empty`)
		}
		if asksSecret(q) {
			faults = append(faults, at+`" asks for a secret, which must not be typed into a form: tell the person where to put it (a variable, a file) instead`)
		}
		if n := len(q.Options); n > maxOptions {
			faults = append(faults, fmt.Sprintf(`%s.options" has %d entries and may have %d`, at, n, maxOptions))
		}
		for j, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" {
				faults = append(faults, fmt.Sprintf(`%s.options[%d].label" is empty`, at, j))
			}
			if slices.ContainsFunc(q.Options[:j], func(p option) bool { return p.Label == o.Label }) {
				faults = append(faults, fmt.Sprintf(`%s.options[%d].label" is there twice: %q`, at, j, o.Label))
			}
		}
	}
	if faults != nil {
		return &tool.ArgumentError{Faults: faults}
	}
	return nil
}

// asksSecret: a question with options asks for a choice, not for the thing.
func asksSecret(q question) bool {
	return len(q.Options) == 0 && tool.AsksSecret(q.Header+" "+q.Question)
}

// noForms is what the model reads where the client shows no forms.
const noForms = "This client cannot show a question. Ask the person in your answer, in plain text, and end your turn there."

// Run shows the form and gives the answers to the model.
func (Tool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := tool.Decode[askArgs](input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	if env.Forms == nil {
		return tool.Fail(noForms), nil
	}
	ans, err := env.Forms.Ask(ctx, env.CallID, form(a.Questions))
	switch {
	case ctx.Err() != nil:
		return tool.Fail("The question was cancelled before it was answered."), nil
	case err != nil:
		return tool.Fail("The question could not be shown (" + err.Error() + "). " + noForms), nil
	case ans.Action == tool.FormDecline:
		return tool.Text("The person declined to answer. Do not ask the same again; go on with your best choice and say which it is."), nil
	case ans.Action != tool.FormAccept:
		return tool.Text("The person closed the question without an answer. Nothing was chosen."), nil
	}
	return answers(a.Questions, ans.Values), nil
}

// field and other name the two fields of a question: the choice, and what the
// person writes beside it.
func field(i int) string { return fmt.Sprintf("q%d", i+1) }
func other(i int) string { return fmt.Sprintf("q%d_other", i+1) }

func form(qs []question) tool.Form {
	f := tool.Form{Message: qs[0].Question}
	if len(qs) > 1 {
		f.Message = fmt.Sprintf("%d questions", len(qs))
	}
	for i, q := range qs {
		title := q.Header
		if title == "" {
			title = tool.Title(q.Question)
		}
		fl := tool.Field{Name: field(i), Title: title, Description: q.Question, Multi: q.MultiSelect}
		for _, o := range q.Options {
			fl.Options = append(fl.Options, tool.FieldOption{Value: o.Label, Description: o.Description})
		}
		f.Fields = append(f.Fields, fl)
		if len(q.Options) > 0 {
			f.Fields = append(f.Fields, tool.Field{Name: other(i), Title: title + ": something else", Description: "An answer of your own; leave it empty to take the choice above."})
		}
	}
	return f
}

// answered is one question of the structured result.
type answered struct {
	Question string   `json:"question"`
	Answers  []string `json:"answers"`
}

// answers checks what came back against what was offered.
func answers(qs []question, values map[string][]string) tool.Result {
	var b strings.Builder
	var all []answered
	for i, q := range qs {
		got := answered{Question: q.Question, Answers: []string{}}
		for _, v := range values[field(i)] {
			offered := len(q.Options) == 0 || slices.ContainsFunc(q.Options, func(o option) bool { return o.Label == v })
			single := len(got.Answers) > 0 && !q.MultiSelect
			if v != "" && offered && !single {
				got.Answers = append(got.Answers, v)
			}
		}
		if own := strings.Join(values[other(i)], "\n"); len(q.Options) > 0 && strings.TrimSpace(own) != "" {
			if !q.MultiSelect {
				got.Answers = nil // an answer of one's own stands in the place of the choice
			}
			got.Answers = append(got.Answers, own)
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		said := strings.Join(got.Answers, "; ")
		if said == "" {
			said = "(no answer)"
		}
		fmt.Fprintf(&b, "%s\n%s", q.Question, said)
		all = append(all, got)
	}
	r := tool.Text(b.String())
	r.Meta.Response, _ = json.Marshal(map[string]any{"answers": all}) // strings always encode
	return r
}
