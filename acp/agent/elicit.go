package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"acp-agent/acp"
	"acp-agent/loop/tool"
)

// clientElicitor shows the questions of MCP servers through a client, each in a
// mode that the client advertised (ACP, elicitation).
type clientElicitor struct {
	*client
	form, url bool
}

// Elicit implements tool.Elicitor.
func (c clientElicitor) Elicit(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error) {
	req, err := c.request(q)
	if err != nil {
		return tool.ElicitAnswer{}, err
	}
	var res acp.CreateElicitationResponse
	if err := c.agent.conn.Call(ctx, acp.MethodElicitationCreate, req, &res); err != nil {
		return tool.ElicitAnswer{}, fmt.Errorf("showing it through the client: %w", err)
	}
	switch res.Action {
	case acp.ElicitationAccept:
		a := tool.ElicitAnswer{Action: tool.FormAccept}
		if len(res.Content) > 0 {
			if a.Content, err = json.Marshal(res.Content); err != nil {
				return tool.ElicitAnswer{}, fmt.Errorf("reading the client's answer: %w", err)
			}
		}
		return a, nil
	case acp.ElicitationDecline:
		return tool.ElicitAnswer{Action: tool.FormDecline}, nil
	}
	return tool.ElicitAnswer{Action: tool.FormCancel}, nil // an action that is not known is no consent
}

// Elicited implements tool.Elicitor.
func (c clientElicitor) Elicited(ctx context.Context, q *tool.Elicitation) error {
	if !c.url {
		return nil
	}
	err := c.agent.conn.Notify(ctx, acp.MethodElicitationComplete, &acp.CompleteElicitationNotification{ElicitationID: q.ID})
	if err != nil {
		return fmt.Errorf("telling the client that what it was asked is done: %w", err)
	}
	return nil
}

var errMode = errors.New("the client does not show questions of this kind")

// request puts a question into the protocol's terms. The client sees one agent:
// the message has to say which server asks (MCP, elicitation, user interaction).
func (c clientElicitor) request(q *tool.Elicitation) (*acp.CreateElicitationRequest, error) {
	req := &acp.CreateElicitationRequest{Message: fmt.Sprintf("The MCP server %q asks:\n\n%s", q.Server, q.Message)}
	scope := &acp.ElicitationSessionScope{SessionID: c.id, ToolCallID: q.CallID}
	switch {
	case q.URL != "" && c.url:
		req.URL = &acp.ElicitationUrlMode{ElicitationID: q.ID, URL: q.URL, Session: scope}
	case q.URL == "" && c.form:
		schema, err := formSchema(q.Schema)
		if err != nil {
			return nil, err
		}
		req.Form = &acp.ElicitationFormMode{RequestedSchema: *schema, Session: scope}
	default:
		return nil, errMode
	}
	return req, nil
}

// formSchema is a server's form as the protocol has it. The two protocols share
// the schema but for enumNames, an older form of titled options. A field that the
// protocol has no word for is an error: without it the form could not be answered.
func formSchema(raw json.RawMessage) (*acp.ElicitationSchema, error) {
	out := &acp.ElicitationSchema{}
	if len(raw) > 0 {
		if err := acp.Unmarshal(raw, out); err != nil {
			return nil, fmt.Errorf("its form cannot be shown: %w", err)
		}
	}
	out.Type, out.Meta = "object", nil
	if out.Properties == nil {
		out.Properties = map[string]acp.ElicitationPropertySchema{}
	}
	var named struct {
		Properties map[string]struct {
			EnumNames []string `json:"enumNames"`
		} `json:"properties"`
	}
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &named) // names of another type are no names
	}
	for name, p := range out.Properties {
		if p.Other != nil {
			return nil, fmt.Errorf("its form cannot be shown: the field %q is of an unknown type", name)
		}
		if p.Array != nil && p.Array.Items.Other != nil {
			return nil, fmt.Errorf("its form cannot be shown: the choices of the field %q are of an unknown type", name)
		}
		names := named.Properties[name].EnumNames
		if s := p.String; s != nil && len(s.OneOf) == 0 && len(names) > 0 && len(names) == len(s.Enum) {
			for i, v := range s.Enum {
				s.OneOf = append(s.OneOf, acp.EnumOption{Const: v, Title: names[i]})
			}
			s.Enum = nil
		}
	}
	return out, nil
}
