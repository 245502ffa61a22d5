package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

func TestRender(t *testing.T) {
	text := func(ss ...string) (out []session.Block) {
		for _, s := range ss {
			out = append(out, session.Text(s))
		}
		return out
	}
	img := session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}
	blob := session.Block{Type: session.BlockResource, URI: "file:///w/p.png", MimeType: "image/png", Data: "aGVsbG8="}
	tests := []struct {
		name   string
		in     session.Block
		images bool
		want   []session.Block
	}{
		{"text", session.Text(" <a>\n"), false, text(" <a>\n")},
		{"empty text", session.Text(""), false, text("")},
		{"image", img, true, []session.Block{img}},
		{"image not taken", img, false, text("[image, image/png, 5 bytes, not shown: this model takes no images]")},
		{"image without data", session.Block{Type: session.BlockImage, URI: "https://x/y.png"}, true, text("[image https://x/y.png, not shown: its data did not come with it]")},
		{"image of another format", session.Block{Type: session.BlockImage, Data: "PHN2Zz4=", MimeType: "image/svg+xml"}, true, text("[image, image/svg+xml, 5 bytes, not shown: models take PNG, JPEG, GIF and WebP]")},
		{"image, and no model for it", session.Block{Type: session.BlockImage, Data: "PHN2Zz4=", MimeType: "image/svg+xml"}, false, text("[image, image/svg+xml, 5 bytes, not shown: this model takes no images]")},
		{"image called what it is not", session.Block{Type: session.BlockImage, Data: "iVBORw0KGgoAAAANSUhEUg==", MimeType: "image/jpeg"}, true, []session.Block{{Type: session.BlockImage, Data: "iVBORw0KGgoAAAANSUhEUg==", MimeType: "image/png"}}},
		{"image without a type", session.Block{Type: session.BlockImage, Data: "/9j/4AAQ"}, true, []session.Block{{Type: session.BlockImage, Data: "/9j/4AAQ", MimeType: "image/jpeg"}}},
		{"image, spelt otherwise", session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/JPG"}, true, []session.Block{{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/jpeg"}}},
		{"audio", session.Block{Type: session.BlockAudio, MimeType: "audio/wav", Data: "AAEC"}, true, text("[audio, audio/wav, 3 bytes, not shown: this model takes no audio]")},
		{"link", session.Block{Type: session.BlockResourceLink, URI: "file:///w/a%20b.txt#L3-5", Name: "a b.txt"}, false, text("[a b.txt](file:///w/a%20b.txt#L3-5)")},
		{"link, title", session.Block{Type: session.BlockResourceLink, URI: "u", Title: "T", Description: "d"}, false, text("[T](u): d")},
		{"link, bare", session.Block{Type: session.BlockResourceLink, URI: "u"}, false, text("[u](u)")},
		{"resource", session.Block{Type: session.BlockResource, URI: "u", MimeType: "text/plain", Text: "  x\n"}, false, text("Attached resource u (text/plain):", "  x\n")},
		{"resource, image", blob, true, append(text("Attached resource file:///w/p.png (image/png):"), session.Block{Type: session.BlockImage, Data: blob.Data, MimeType: blob.MimeType, URI: blob.URI})},
		{"resource, image not taken", blob, false, text("[resource file:///w/p.png, image/png, 5 bytes, not shown: this model takes no images]")},
		{"resource, image of another format", session.Block{Type: session.BlockResource, URI: "u", MimeType: "image/heic", Data: "AAE="}, true, text("[resource u, image/heic, 2 bytes, not shown: models take PNG, JPEG, GIF and WebP]")},
		{"resource, blob", session.Block{Type: session.BlockResource, URI: "u", Data: "AAE="}, true, text("[resource u, 2 bytes, not shown: it is not text]")},
		{"reasoning", session.Block{Type: session.BlockReasoning, Text: "x"}, false, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Render(tt.in, tt.images)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}
