package agent

import (
	"fmt"

	"acp-agent/acp"
	"acp-agent/session"
)

// promptContent takes the blocks of a prompt into the log's terms. Nothing is
// dropped: what the agent did not advertise is refused with the block named.
func promptContent(in []acp.ContentBlock, caps promptCaps) ([]session.Block, error) {
	out := make([]session.Block, 0, len(in))
	for i, b := range in {
		field := fmt.Sprintf("prompt[%d]", i)
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
				blk.URI, blk.MimeType, blk.Data = r.Blob.URI, r.Blob.MimeType, r.Blob.Blob
			default:
				return nil, acp.InvalidParams(field, "the resource has neither text nor blob")
			}
			out = append(out, blk)
		case b.Image != nil && caps.image:
			out = append(out, session.Block{Type: session.BlockImage, Data: b.Image.Data, MimeType: b.Image.MimeType, URI: b.Image.URI})
		case b.Image != nil:
			return nil, acp.InvalidParams(field, "images were not advertised in promptCapabilities: this model takes text")
		case b.Audio != nil:
			return nil, acp.InvalidParams(field, "audio was not advertised in promptCapabilities")
		default:
			return nil, acp.InvalidParams(field, "unknown kind of content block")
		}
	}
	if len(out) == 0 {
		return nil, acp.InvalidParams("prompt", "the prompt is empty: send at least one content block")
	}
	return out, nil
}

type promptCaps struct{ image bool }

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
