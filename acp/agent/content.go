package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"acp-agent/acp"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// promptContent takes the blocks of a prompt, which stand in that member of the
// params, into the log's terms. Nothing is dropped: what the agent did not
// advertise is refused with the block named, and so is a prompt that says nothing
// at all, which providers refuse and no model can answer.
func promptContent(member string, in []acp.ContentBlock) ([]session.Block, error) {
	out := make([]session.Block, 0, len(in))
	for i, b := range in {
		field := fmt.Sprintf("%s[%d]", member, i)
		switch {
		case b.Text != nil:
			out = append(out, session.Text(b.Text.Text))
		case b.ResourceLink != nil:
			l := b.ResourceLink
			blk := session.Block{
				Type: session.BlockResourceLink, URI: l.URI, Name: l.Name, Title: l.Title,
				Description: l.Description, MimeType: l.MimeType,
			}
			if l.Size != nil {
				blk.Size = *l.Size
			}
			out = append(out, blk)
		case b.Resource != nil:
			r := b.Resource.Resource
			blk := session.Block{Type: session.BlockResource}
			switch {
			case r.Text != nil:
				blk.URI, blk.MimeType, blk.Text = r.Text.URI, r.Text.MimeType, r.Text.Text
			case r.Blob != nil:
				data, err := base64Data(r.Blob.Blob)
				if err != nil {
					return nil, acp.InvalidParams(field+".resource.blob", err.Error())
				}
				blk.URI, blk.MimeType, blk.Data = r.Blob.URI, r.Blob.MimeType, data
			default:
				return nil, acp.InvalidParams(field, "the resource has neither text nor blob")
			}
			out = append(out, blk)
		case b.Image != nil:
			data, err := base64Data(b.Image.Data)
			if err == nil && data == "" {
				err = errors.New("it is empty")
			}
			if err != nil {
				return nil, acp.InvalidParams(field+".data", err.Error())
			}
			out = append(out, session.Block{Type: session.BlockImage, Data: data, MimeType: b.Image.MimeType, URI: b.Image.URI})
		case b.Audio != nil:
			return nil, acp.InvalidParams(field, "audio was not advertised in promptCapabilities")
		default:
			return nil, acp.InvalidParams(field, "unknown kind of content block")
		}
	}
	if len(out) == 0 {
		return nil, acp.InvalidParams(member, "the prompt is empty: send at least one content block")
	}
	if empty(out) {
		return nil, acp.InvalidParams(member, "the prompt is empty: its text is blank, and there is nothing else in it")
	}
	return out, nil
}

// empty reports whether there is nothing but blank text.
func empty(content []session.Block) bool {
	return !slices.ContainsFunc(content, func(b session.Block) bool {
		return b.Type != session.BlockText || strings.TrimSpace(b.Text) != ""
	})
}

// base64Data checks data for the model, and takes off what some clients put round
// it: the head of a data URL, and line breaks. A provider refuses a request with
// any other, and with it every later one of the session.
func base64Data(s string) (string, error) {
	if strings.HasPrefix(s, "data:") {
		if _, data, ok := strings.Cut(s, ";base64,"); ok {
			s = data
		}
	}
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	}
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(s))); err != nil {
		return "", fmt.Errorf("it is not base64: %w", err)
	}
	return s, nil
}

// maxAttached bounds the text of a linked file that goes into a prompt, in
// bytes. The model can read the rest with its tools.
const maxAttached = 256 << 10

// attach reads the files that a prompt links to and puts their text behind the
// link, so that it is in the log and the model is sure to see it: the text that the
// tools read, which is what an editor has not saved yet where it serves that. A link
// that cannot be read, lies outside the session's directories or is no text stays a
// link: the model has tools to look for itself.
func (v *view) attach(ctx context.Context, files tool.Files, content []session.Block) []session.Block {
	var out []session.Block
	for i, b := range content {
		out = append(out, b)
		if b.Type != session.BlockResourceLink {
			continue
		}
		if next := i + 1; next < len(content) && content[next].Type == session.BlockResource && content[next].URI == b.URI {
			continue // the client has attached it already
		}
		if text, ok := v.linked(ctx, files, b.URI); ok {
			out = append(out, session.Block{Type: session.BlockResource, URI: b.URI, MimeType: "text/plain", Text: text})
		}
	}
	return out
}

// linked reads the file, or the lines of it, that a file link names.
func (v *view) linked(ctx context.Context, files tool.Files, uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	// The place first: a client has text of files that are not the session's.
	p, err := tool.Within(v.env.Roots, filepath.FromSlash(u.Path))
	if err != nil {
		return "", false
	}
	if st, err := p.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxAttached {
		return "", false
	}
	data, err := files.ReadFile(ctx, p.Path)
	if err != nil || len(data) > maxAttached || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	from, to, ok := lineRange(u.Fragment)
	if !ok {
		return string(data), true
	}
	lines := strings.SplitAfter(string(data), "\n")
	if from > len(lines) {
		return string(data), true
	}
	return strings.Join(lines[from-1:min(to, len(lines))], ""), true
}

// lineRange reads a link's fragment: L3, L3-5, L3-L5 or L3:5, as editors write it.
func lineRange(s string) (from, to int, ok bool) {
	s, ok = strings.CutPrefix(s, "L")
	if !ok {
		return 0, 0, false
	}
	a, b, two := strings.Cut(strings.ReplaceAll(s, ":", "-"), "-")
	from, err := strconv.Atoi(a)
	if err != nil || from < 1 {
		return 0, 0, false
	}
	to = from
	if two {
		if to, err = strconv.Atoi(strings.TrimPrefix(b, "L")); err != nil || to < from {
			return 0, 0, false
		}
	}
	return from, to, true
}

// wireBlock is a log block as ACP content; nil for blocks that have no ACP form.
func wireBlock(b *session.Block) *acp.ContentBlock {
	switch b.Type {
	case session.BlockText:
		c := acp.TextBlock(b.Text)
		return &c
	case session.BlockImage:
		return &acp.ContentBlock{Image: &acp.ImageContent{Data: b.Data, MimeType: b.MimeType, URI: b.URI}}
	case session.BlockAudio:
		return &acp.ContentBlock{Audio: &acp.AudioContent{Data: b.Data, MimeType: b.MimeType}}
	case session.BlockResourceLink:
		l := &acp.ResourceLink{URI: b.URI, Name: b.Name, Title: b.Title, Description: b.Description, MimeType: b.MimeType}
		if b.Size != 0 {
			l.Size = &b.Size
		}
		return &acp.ContentBlock{ResourceLink: l}
	case session.BlockResource:
		r := &acp.EmbeddedResource{}
		if b.Data != "" {
			r.Resource.Blob = &acp.BlobResourceContents{URI: b.URI, MimeType: b.MimeType, Blob: b.Data}
		} else {
			r.Resource.Text = &acp.TextResourceContents{URI: b.URI, MimeType: b.MimeType, Text: b.Text}
		}
		return &acp.ContentBlock{Resource: r}
	}
	return nil
}
