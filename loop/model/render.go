package model

import (
	"fmt"
	"strings"

	"acp-agent/session"
)

// Render returns a content block as the text and image blocks that a provider
// can be sent, in order; every adapter uses it, so that a session reads the
// same to all models. It is pure and deterministic, as the request's prefix
// must not change from one call to the next.
//
// Text goes through byte for byte. A resource's text is a block of its own,
// after one that names it, and is not touched either. What the model cannot be
// shown becomes a note that says so, never nothing. Blocks that are not content
// of a user's or a tool's message (reasoning, tool calls, results) give nil.
func Render(b session.Block, images bool) []session.Block {
	switch b.Type {
	case session.BlockText:
		return []session.Block{b}
	case session.BlockImage:
		switch typ := ImageType(&b); {
		case !images:
			return note("image", b, noImages)
		case b.Data == "":
			return note("image", b, "its data did not come with it")
		case typ == "":
			return note("image", b, noFormat)
		default:
			b.MimeType = typ
		}
		return []session.Block{b}
	case session.BlockAudio:
		return note("audio", b, "this model takes no audio")
	case session.BlockResourceLink:
		return []session.Block{session.Text(renderLink(b))}
	case session.BlockResource:
		if b.Data == "" {
			head := "Attached resource " + b.URI
			if b.MimeType != "" {
				head += " (" + b.MimeType + ")"
			}
			return []session.Block{session.Text(head + ":"), session.Text(b.Text)}
		}
		if strings.HasPrefix(b.MimeType, "image/") {
			if !images {
				return note("resource", b, noImages)
			}
			typ := ImageType(&b)
			if typ == "" {
				return note("resource", b, noFormat)
			}
			img := session.Block{Type: session.BlockImage, Data: b.Data, MimeType: typ, URI: b.URI}
			return []session.Block{session.Text("Attached resource " + b.URI + " (" + b.MimeType + "):"), img}
		}
		return note("resource", b, "it is not text")
	}
	return nil
}

const (
	noImages = "this model takes no images"
	noFormat = "models take PNG, JPEG, GIF and WebP"
)

// renderLink writes a link as Markdown does: the model has seen many of those,
// and it has tools to read what the link names.
func renderLink(b session.Block) string {
	name := b.Name
	if name == "" {
		name = b.Title
	}
	if name == "" {
		name = b.URI
	}
	s := "[" + name + "](" + b.URI + ")"
	if b.Description != "" {
		s += ": " + b.Description
	}
	return s
}

func note(what string, b session.Block, why string) []session.Block {
	s := "[" + what
	if b.URI != "" {
		s += " " + b.URI
	}
	if b.MimeType != "" {
		s += ", " + b.MimeType
	}
	if b.Data != "" {
		s += fmt.Sprintf(", %d bytes", base64Size(b.Data))
	}
	return []session.Block{session.Text(s + ", not shown: " + why + "]")}
}

// base64Size is the size of what padded or unpadded base64 text holds.
func base64Size(s string) int {
	return len(strings.TrimRight(s, "=")) * 3 / 4
}
