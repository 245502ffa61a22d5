package web

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"acp-agent/internal/lossy"
)

// utf8Text is the body as UTF-8, in the charset that the header, the page's head or
// the bytes say.
func utf8Text(body []byte, contentType string) string {
	if !utf8.Valid(body) {
		if r, err := charset.NewReader(bytes.NewReader(body), contentType); err == nil {
			if decoded, err := io.ReadAll(r); err == nil {
				body = decoded
			}
		}
	}
	return lossy.Text(body)
}

// textual reports whether a media type is text for people or programs to read.
func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/sql", "application/x-sh":
		return true
	}
	return false
}

// shorten keeps the head and the tail of a text that is too long, and says what is
// gone. more: there was more of the page than was read.
func shorten(text string, limit int, more bool) string {
	end := ""
	if more {
		end = fmt.Sprintf("\n\n[the page goes on: only its first %d MiB were read]", maxBody>>20)
	}
	if len(text) <= limit {
		return text + end
	}
	head, tail := limit*3/4, len(text)-limit/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf("\n\n[%d of %d bytes left out here]\n\n", tail-head, len(text)) + text[tail:] + end
}

// short is a URL for a text that a person or a model reads.
func short(u *url.URL) string {
	const limit = 500
	if s := u.String(); len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(u.String()[:limit], "") + "…" // a query may hold what is not ASCII
}
