package tool

import (
	"context"
	"errors"
)

// ErrUnable is wrapped by an error of Files or Terminal where the client cannot do
// at all what it was asked, so that it is no refusal.
var ErrUnable = errors.New("the client cannot do this")

type consentKey struct{}

// WithConsent returns the context of a call that the client has been asked about
// and has allowed: what it then fails at it cannot do, where it would else refuse.
func WithConsent(ctx context.Context) context.Context {
	return context.WithValue(ctx, consentKey{}, true)
}

// Consented reports whether ctx is one of WithConsent.
func Consented(ctx context.Context) bool {
	yes, _ := ctx.Value(consentKey{}).(bool)
	return yes
}
