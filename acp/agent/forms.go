package agent

import (
	"context"
	"fmt"

	"acp-agent/acp"
	"acp-agent/loop/tool"
)

// clientForms shows forms through a client that advertised elicitation.form.
// There is no url mode here: nothing this agent asks for is a secret.
type clientForms struct{ *client }

// Ask implements tool.Forms.
func (c clientForms) Ask(ctx context.Context, callID string, f tool.Form) (tool.FormAnswer, error) {
	form := &acp.ElicitationFormMode{
		RequestedSchema: acp.ElicitationSchema{Type: "object", Properties: map[string]acp.ElicitationPropertySchema{}},
		Session:         &acp.ElicitationSessionScope{SessionID: c.id, ToolCallID: callID},
	}
	for _, fl := range f.Fields {
		form.RequestedSchema.Properties[fl.Name] = property(fl)
	}
	var res acp.CreateElicitationResponse
	err := c.agent.conn.Call(ctx, acp.MethodElicitationCreate, &acp.CreateElicitationRequest{Message: f.Message, Form: form}, &res)
	if err != nil {
		return tool.FormAnswer{}, fmt.Errorf("showing a form through the client: %w", err)
	}
	switch res.Action {
	case acp.ElicitationAccept:
		return tool.FormAnswer{Action: tool.FormAccept, Values: values(res.Content)}, nil
	case acp.ElicitationDecline:
		return tool.FormAnswer{Action: tool.FormDecline}, nil
	}
	return tool.FormAnswer{Action: tool.FormCancel}, nil
}

// property is a field as the protocol's form schema has it.
func property(f tool.Field) acp.ElicitationPropertySchema {
	var opts []acp.EnumOption
	for _, o := range f.Options {
		opts = append(opts, acp.EnumOption{Const: o.Value, Title: o.Value, Description: o.Description})
	}
	if f.Multi && len(opts) > 0 {
		return acp.ElicitationPropertySchema{Array: &acp.MultiSelectPropertySchema{
			Title: f.Title, Description: f.Description, Items: acp.MultiSelectItems{Titled: &acp.TitledMultiSelectItems{AnyOf: opts}},
		}}
	}
	return acp.ElicitationPropertySchema{String: &acp.StringPropertySchema{Title: f.Title, Description: f.Description, OneOf: opts}}
}

// values reads a form's content. A value of another type than the form asked for
// is no answer.
func values(content map[string]any) map[string][]string {
	out := map[string][]string{}
	for name, v := range content {
		switch v := v.(type) {
		case string:
			out[name] = []string{v}
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok {
					out[name] = append(out[name], s)
				}
			}
		}
	}
	return out
}
