package web

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxPiece is how much of a page, in bytes of text and markup, is converted at
// once: the time that takes may grow with the square, and cannot be cut short.
const maxPiece = 64 << 10

// markdown turns HTML into Markdown, with the title above it where the page does not
// say it again, and with absolute links. What cannot be parsed (nested too deeply) is
// given as it came. The error is ctx's.
func markdown(ctx context.Context, source string, at *url.URL) (string, error) {
	doc, err := html.Parse(&bounded{ctx, strings.NewReader(source)})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return source, nil
	}
	c := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()),
		// The model is to read what the page says, without backslashes.
		converter.WithEscapeMode(converter.EscapeModeDisabled))
	c.Register.TagType("template", converter.TagTypeRemove, converter.PriorityStandard)
	title := titleOf(doc)
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			n.Data = hideAngles.Replace(n.Data)
		}
	}
	domain := converter.WithDomain(baseOf(doc, at).String())
	var out strings.Builder
	for _, piece := range pieces(doc, sizes(doc)) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		text, err := c.ConvertNode(piece, domain)
		if err != nil {
			return source, nil
		}
		if len(text) > 0 && out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(showAngles.Replace(string(text)))
	}
	if title != "" && !strings.Contains(out.String(), title) {
		return "# " + title + "\n\n" + out.String(), nil
	}
	return out.String(), nil
}

// The converter writes < and > as entities, which Markdown does not ask for and a
// model would take for the page's own. Two characters that are none (Unicode 23.7)
// stand for them meanwhile.
var (
	hideAngles = strings.NewReplacer("<", "\uFDD0", ">", "\uFDD1")
	showAngles = strings.NewReplacer("\uFDD0", "<", "\uFDD1", ">")
)

// bounded reads in small pieces for as long as ctx lasts.
type bounded struct {
	ctx context.Context // of the call; it does not outlive it
	r   io.Reader
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, errors.New("the call has ended")
	}
	return b.r.Read(p[:min(len(p), 4<<10)])
}

// sizes are roughly the bytes of each node with all that is in it.
func sizes(n *html.Node) map[*html.Node]int {
	out := map[*html.Node]int{}
	var add func(n *html.Node) int
	add = func(n *html.Node) int {
		size := len(n.Data) + 8
		for _, a := range n.Attr {
			size += len(a.Key) + len(a.Val)
		}
		for c := range n.ChildNodes() {
			size += add(c)
		}
		out[n] = size
		return size
	}
	add(n)
	return out
}

// wraps are elements without which their content means something else.
var wraps = map[atom.Atom]bool{
	atom.Table: true, atom.Thead: true, atom.Tbody: true, atom.Tr: true, atom.Ul: true, atom.Ol: true, atom.Dl: true, atom.Pre: true, atom.Blockquote: true,
}

// pieces takes a node apart into parts of at most maxPiece, but for a single text
// that is longer.
func pieces(n *html.Node, size map[*html.Node]int) []*html.Node {
	if size[n] <= maxPiece || n.FirstChild == nil {
		return []*html.Node{n}
	}
	shell := &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}
	wrapped := n.Type == html.ElementNode && wraps[n.DataAtom]
	if wrapped {
		shell = &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Attr: n.Attr}
	}
	in := func(nodes ...*html.Node) *html.Node {
		w := *shell
		for _, c := range nodes {
			w.AppendChild(c)
		}
		return &w
	}
	var out []*html.Node
	var group *html.Node
	held := 0
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		n.RemoveChild(c)
		switch {
		case size[c] > maxPiece:
			group = nil
			for _, p := range pieces(c, size) {
				if wrapped {
					p = in(p)
				}
				out = append(out, p)
			}
		case group == nil || held+size[c] > maxPiece:
			group, held = in(c), size[c]
			out = append(out, group)
		default:
			group.AppendChild(c)
			held += size[c]
		}
		c = next
	}
	return out
}

// titleOf is the text of the page's first title.
func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.Namespace == "" && n.FirstChild != nil {
			return strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	}
	return ""
}

// baseOf is what the page's links are relative to.
func baseOf(doc *html.Node, at *url.URL) *url.URL {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "base" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key != "href" {
				continue
			}
			if u, err := at.Parse(strings.TrimSpace(a.Val)); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				return u
			}
		}
	}
	return at
}
