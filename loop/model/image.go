package model

import (
	"bytes"
	"encoding/base64"
	"strings"

	"acp-agent/session"
)

// ImageFormat tells the formats of images that models take by their first bytes
// (OpenAI, "Images and vision"; Anthropic, "Vision": the same four); empty for what
// is none of them.
func ImageFormat(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// ImageType is the media type that an image goes out with: what its bytes say,
// where they are of a known format, else what its block says; empty where models
// take no such image. A provider refuses one that is called what it is not, or of
// another format, and with it every later request of the session.
func ImageType(b *session.Block) string {
	head, _ := base64.StdEncoding.DecodeString(b.Data[:min(len(b.Data), 16)]) // what is there, of 12 bytes
	if format := ImageFormat(head); format != "" {
		return format
	}
	switch said, _, _ := strings.Cut(strings.ToLower(b.MimeType), ";"); said {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return said
	case "image/jpg":
		return "image/jpeg"
	}
	return ""
}
