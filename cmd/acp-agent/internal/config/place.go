package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// entry is a key of a TOML file, with its tables, and where it stands.
type entry struct {
	key         []string
	line, start int
}

// entries reads the keys of a file up to where it is no TOML.
func entries(data []byte) []entry {
	var (
		p     unstable.Parser
		table []string
		out   []entry
	)
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		var key []string
		var at unstable.Position
		for it := e.Key(); it.Next(); {
			if key == nil {
				at = p.Shape(it.Node().Raw).Start
			}
			key = append(key, string(it.Node().Data))
		}
		switch {
		case key == nil:
			continue
		case e.Kind == unstable.KeyValue:
			key = slices.Concat(table, key)
		default:
			table = key
		}
		out = append(out, entry{key, at.Line, at.Column})
	}
	return out
}

// place is ":LINE:COLUMN" of a key; of the nearest one above it where it stands in
// an inline table, and empty where there is none.
func place(data []byte, key []string) string {
	var best entry
	for _, e := range entries(data) {
		if len(e.key) > len(best.key) && len(e.key) <= len(key) && slices.Equal(e.key, key[:len(e.key)]) {
			best = e
		}
	}
	if best.key == nil {
		return ""
	}
	return fmt.Sprintf(":%d:%d", best.line, best.start)
}

// keyAt is the key whose value a line belongs to.
func keyAt(data []byte, line int) string {
	var key []string
	for _, e := range entries(data) {
		if e.line > line {
			break
		}
		key = e.key
	}
	return strings.Join(key, ".")
}

// inWords says what the TOML package says of a value, without the names of Go.
func inWords(data []byte, line int, msg string) (what, do string) {
	do = correctIt
	if strings.HasPrefix(msg, "unexpected character") && strings.HasSuffix(msg, "at start of value") {
		return msg, "put text in quotes"
	}
	rest, wrong := strings.CutPrefix(msg, "cannot decode TOML ")
	is, into, typed := strings.Cut(rest, " into ")
	_, t, named := strings.Cut(into, " of type ")
	if !wrong || !typed || !named {
		return msg, do
	}
	want := "a table"
	switch {
	case t == "string", strings.HasSuffix(t, ".Wire"):
		want = "text in quotes"
	case t == "bool":
		want = "true or false"
	case strings.HasPrefix(t, "int"):
		want = "a whole number"
	case t == "[]string":
		want = `a list of texts, such as ["a", "b"]`
	}
	return fmt.Sprintf("%s must be %s, and is %s", keyAt(data, line), want, withArticle(is)), do
}

func withArticle(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// valueError is a value that TOML's types let through.
type valueError struct {
	key  []string
	what string
}

func (e *valueError) Error() string {
	var key []string
	for _, k := range e.key {
		if strings.ContainsAny(k, ". \"") || k == "" {
			k = strconv.Quote(k)
		}
		key = append(key, k)
	}
	return strings.Join(key, ".") + " " + e.what
}

// Place is the config file, with the line and the column of a key where it has it.
func (c *Config) Place(key ...string) string { return c.File + place(c.data, key) }
