package tool

import "context"

// Forms puts a form to the person, through a client that shows forms. Nil in Env
// when the client shows none.
type Forms interface {
	// Ask returns what the person did with the form, or an error when it could
	// not be shown. It returns when ctx is done; a late answer is dropped.
	Ask(ctx context.Context, callID string, f Form) (FormAnswer, error)
}

// Form is a few questions that are answered together. It is never for secrets:
// what is typed goes into the session's log and to the model.
type Form struct {
	Message string
	Fields  []Field
}

// Field is one entry of a form. None is required: the person may leave out what
// does not apply.
type Field struct {
	Name, Title, Description string
	// Options are the values to choose from; without any the answer is text.
	Options []FieldOption
	// Multi lets several options be chosen.
	Multi bool
}

// FieldOption is one value to choose.
type FieldOption struct{ Value, Description string }

// FormAction is what the person did.
type FormAction string

// The actions.
const (
	FormAccept  FormAction = "accept"
	FormDecline FormAction = "decline"
	FormCancel  FormAction = "cancel"
)

// FormAnswer is a form that came back. Values are those of accepted fields, by
// name; they are as the client sent them, and the asker checks them again.
type FormAnswer struct {
	Action FormAction
	Values map[string][]string
}
