package tool

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Elicitor puts the questions of MCP servers to the person (MCP specification,
// client features, elicitation). Nil in Env when the client takes none.
type Elicitor interface {
	// Elicit returns what the person did with the question, or an error when it
	// could not be shown. It returns when ctx is done; a late answer is dropped.
	Elicit(ctx context.Context, q *Elicitation) (ElicitAnswer, error)
	// Elicited says that what the person was sent to q.URL for is done. It may
	// come at any time after Elicit was called with q.
	Elicited(ctx context.Context, q *Elicitation) error
}

// Elicitation is a question of an MCP server: a form to fill in, or a URL to go
// to. Of the two, Schema and URL, one is set.
type Elicitation struct {
	// ID is unique among all questions of a session.
	ID string
	// CallID is the tool call that the server asks for; empty where that is not
	// known.
	CallID  string
	Server  string
	Message string
	// Schema is a flat object schema, as the server sent it.
	Schema json.RawMessage
	URL    string
	// ServerID is the server's own id of a question with a URL.
	ServerID string
}

// Mode is form or url.
func (q *Elicitation) Mode() string {
	if q.URL != "" {
		return "url"
	}
	return "form"
}

// ElicitAnswer is an Elicitation that came back. Content is what was filled in,
// an object; the asker checks it against its schema.
type ElicitAnswer struct {
	Action  FormAction
	Content json.RawMessage
}

// secret finds what must not be typed into a form: an answer is logged, and may
// go to the model's provider. ACP and MCP forbid to ask for it there (elicitation,
// form mode); what needs one has to send the person to a URL.
var secret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(pass(word|phrase|code)s?|api[ _-]?keys?|(access|auth|bearer|secret|refresh)[ _-]?tokens?|(private|secret|signing)[ _-]?keys?|credentials?|credit[ _-]?card|one[ _-]?time[ _-]?code|PIN)\b`)
})

// AsksSecret reports whether a text, or a name such as openaiApiKey, asks for a
// password, a key or the like.
func AsksSecret(text string) bool {
	return secret().MatchString(text) || secret().MatchString(words(text))
}

// words takes a name apart: snake_case and camelCase become words.
func words(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case r == '_':
			r = ' '
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}
