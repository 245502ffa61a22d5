package ask

import (
	"context"
	"errors"
	"strings"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

func TestSchema(t *testing.T) { tooltest.Schema[askArgs](t, New()) }

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"none":             {`{"questions":[]}`, "one to 4"},
		"many":             {`{"questions":[{"question":"a"},{"question":"b"},{"question":"c"},{"question":"d"},{"question":"e"}]}`, "one to 4"},
		"empty":            {`{"questions":[{"question":" "}]}`, "is empty"},
		"empty label":      {`{"questions":[{"question":"a","options":[{"label":""}]}]}`, "label"},
		"twice":            {`{"questions":[{"question":"a","options":[{"label":"x"},{"label":"x"}]}]}`, "twice"},
		"password":         {`{"questions":[{"question":"What is your password?"}]}`, "secret"},
		"api key":          {`{"questions":[{"header":"API key","question":"What is it?"}]}`, "secret"},
		"token":            {`{"questions":[{"question":"Paste the access token here."}]}`, "secret"},
		"choice about one": {`{"questions":[{"question":"Where shall the API key be kept?","options":[{"label":"env"},{"label":"file"}]}]}`, ""},
		"token limit":      {`{"questions":[{"question":"Which token limit?"}]}`, ""},
		"broken":           {`{"questions":`, "not valid JSON"},
	} {
		err := New().Check([]byte(tc.args))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

type forms struct {
	ans  tool.FormAnswer
	err  error
	form tool.Form
}

func (f *forms) Ask(_ context.Context, _ string, form tool.Form) (tool.FormAnswer, error) {
	f.form = form
	return f.ans, f.err
}

func TestRun(t *testing.T) {
	const qs = `{"questions":[
		{"question":"Which?","header":"Pick","options":[{"label":"a","description":"first"},{"label":"b"}]},
		{"question":"Whom?","options":[{"label":"x"},{"label":"y"}],"multiSelect":true},
		{"question":"Why?"}]}`
	accept := func(kv map[string][]string) tool.FormAnswer {
		return tool.FormAnswer{Action: tool.FormAccept, Values: kv}
	}
	for name, tc := range map[string]struct {
		f       *forms
		want    string
		isError bool
	}{
		"answered": {
			&forms{ans: accept(map[string][]string{"q1": {"a"}, "q2": {"x", "y"}, "q3": {"because"}})},
			"Which?\na\n\nWhom?\nx; y\n\nWhy?\nbecause", false,
		},
		"own words": {
			&forms{ans: accept(map[string][]string{"q1": {"a"}, "q1_other": {"c"}, "q2": {"x"}, "q2_other": {"z"}})},
			"Which?\nc\n\nWhom?\nx; z\n\nWhy?\n(no answer)", false,
		},
		"not offered": {
			&forms{ans: accept(map[string][]string{"q1": {"evil"}, "q2": {"x", "evil"}})},
			"Which?\n(no answer)\n\nWhom?\nx\n\nWhy?\n(no answer)", false,
		},
		"two for one":    {&forms{ans: accept(map[string][]string{"q1": {"a", "b"}})}, "Which?\na\n\nWhom?\n(no answer)\n\nWhy?\n(no answer)", false},
		"declined":       {&forms{ans: tool.FormAnswer{Action: tool.FormDecline, Values: map[string][]string{"q1": {"a"}}}}, "declined", false},
		"cancelled":      {&forms{ans: tool.FormAnswer{Action: tool.FormCancel}}, "closed the question", false},
		"unknown action": {&forms{ans: tool.FormAnswer{Action: "later", Values: map[string][]string{"q1": {"a"}}}}, "closed the question", false},
		"failed":         {&forms{err: errors.New("no window")}, "no window", true},
	} {
		r, err := New().Run(t.Context(), &tool.Env{CallID: "c", Forms: tc.f}, []byte(qs))
		if err != nil || r.IsError != tc.isError || !strings.Contains(r.Content[0].Text, tc.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, r, err, tc.want)
		}
	}
	f := &forms{}
	if _, err := New().Run(t.Context(), &tool.Env{Forms: f}, []byte(qs)); err != nil {
		t.Fatal(err)
	}
	if n := len(f.form.Fields); n != 5 || !f.form.Fields[2].Multi || f.form.Fields[0].Options[0].Description != "first" {
		t.Errorf("the form is %+v", f.form)
	}
}

// Without forms, and after a cancel, the model is told so; nothing waits.
func TestRunWithout(t *testing.T) {
	in := []byte(`{"questions":[{"question":"Why?"}]}`)
	if r, err := New().Run(t.Context(), &tool.Env{}, in); err != nil || !r.IsError || !strings.Contains(r.Content[0].Text, "plain text") {
		t.Errorf("got %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := New().Run(ctx, &tool.Env{Forms: &forms{err: ctx.Err()}}, in); err != nil || !strings.Contains(r.Content[0].Text, "cancelled") {
		t.Errorf("got %+v, %v", r, err)
	}
	if v := New().View(nil, []byte("{")); v.Title != "Ask a question" {
		t.Errorf("view of broken arguments: %+v", v)
	}
}
