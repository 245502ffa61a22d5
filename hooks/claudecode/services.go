package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"acp-agent/hooks"
)

// Handlers that are no process end in the same terms as one, so that Decode
// alone knows what answers mean: StartErr where there was none to be had.

func noAnswer(format string, args ...any) hooks.Exit {
	return hooks.Exit{Code: -1, StartErr: fmt.Errorf(format, args...)}
}

// post runs an http handler (Claude Code hooks reference, handlers).
func (d *Dialect) post(ctx context.Context, job *hooks.Job) hooks.Exit {
	x := extOf(job.Handler)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(bytes.TrimSuffix(job.Payload, []byte("\n"))))
	if err != nil {
		return noAnswer("%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, k := range sortedKeys(x.headers) {
		req.Header.Set(k, d.header(x, x.headers[k]))
	}
	client := d.cfg.HTTP
	if client == nil {
		// The default transport would read proxies from the process's environment.
		client = &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true},
			// A redirect would lead past the allow-list, with the headers' secrets.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return noAnswer("%w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, hooks.MaxOutput))
	if err != nil {
		return noAnswer("reading the answer of %s: %w", x.url, err)
	}
	if resp.StatusCode/100 != 2 {
		return noAnswer("%s answered with status %s", x.url, resp.Status)
	}
	text := hooks.TrimForTest(body)
	if len(text) > 0 && !hooks.WholeObject(body) {
		return noAnswer("%s answered with something other than a JSON object", x.url)
	}
	return hooks.Exit{Stdout: body}
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)
})

// header fills in variables, only those that the handler names and the settings
// allow; others become empty. Line ends are taken out, or a variable could add
// headers of its own.
func (d *Dialect) header(x *ext, value string) string {
	value = variable().ReplaceAllStringFunc(value, func(ref string) string {
		name := strings.Trim(ref, "${}")
		if !slices.Contains(x.allowedEnv, name) || x.httpEnv != nil && !slices.Contains(x.httpEnv, name) {
			return ""
		}
		if v, ok := x.env[name]; ok {
			return v
		}
		return d.Variable(name)
	})
	return strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
}

// urlMatches tests a URL on a pattern of the allow-list, in which * stands for
// anything, but never for more than the host in the place of the host: a pattern
// for one machine must not be met by another machine's path or user name. Hosts
// have no case, and one with the dot of a full name at its end is the same one
// (Claude Code settings reference, allowedHttpHookUrls).
func urlMatches(pattern, raw string) bool {
	if pattern == "*" {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	scheme, rest, ok := strings.Cut(pattern, "://")
	if !ok {
		scheme, rest = "*", pattern
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	} else if strings.HasSuffix(rest, "*") {
		path = "*"
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	if target == "/" && path == "" {
		target = ""
	}
	return matchesAnything(scheme, u.Scheme) && matchesAnything(hostText(authority), hostText(u.Host)) && matchesAnything(path, target)
}

// hostText is a host with its port in the one way of writing it.
func hostText(authority string) string {
	host, port := strings.ToLower(authority), ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i:]
	}
	return strings.TrimSuffix(host, ".") + port
}

func matchesAnything(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	re, err := regexp.Compile("(?s)^" + strings.Join(parts, ".*") + "$")
	return err == nil && re.MatchString(s)
}

// callMCP runs an mcp_tool handler: its text counts like a command's stdout.
func (d *Dialect) callMCP(ctx context.Context, job *hooks.Job) hooks.Exit {
	x := extOf(job.Handler)
	input, err := fill(x.input, job.Payload)
	if err != nil {
		return noAnswer("%w", err)
	}
	text, isError, err := d.cfg.MCP.CallTool(ctx, x.server, x.tool, input)
	switch {
	case err != nil:
		return noAnswer("calling %s of MCP server %s: %w", x.tool, x.server, err)
	case isError:
		return noAnswer("%s of MCP server %s reported an error: %s", x.tool, x.server, hooks.Summary([]byte(text)))
	}
	return hooks.Exit{Stdout: []byte(text)}
}

var dotted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)\}`) })

// fill replaces ${dotted.path} in the strings of an mcp_tool's input by what the
// payload has there. A string that is only a placeholder takes the value with
// its type. Values go as the payload has them: their numbers, and the order of
// their members, too.
func fill(input json.RawMessage, payload []byte) (json.RawMessage, error) {
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage("{}"), nil
	}
	var in any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	if !json.Valid(payload) {
		return nil, errors.New("the payload is no JSON")
	}
	return json.Marshal(fillValue(in, payload))
}

func fillValue(v any, payload json.RawMessage) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = fillValue(v[k], payload)
		}
	case []any:
		for i := range v {
			v[i] = fillValue(v[i], payload)
		}
	case string:
		if m := dotted().FindStringSubmatch(v); m != nil && m[0] == v {
			return lookUp(payload, m[1])
		}
		return dotted().ReplaceAllStringFunc(v, func(ref string) string {
			raw := lookUp(payload, ref[2:len(ref)-1])
			var s string
			if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null is no text
				return s
			}
			return string(hooks.AppendJSON(nil, raw))
		})
	}
	return v
}

// lookUp returns what lies at the path, nil where there is nothing.
func lookUp(data json.RawMessage, path string) json.RawMessage {
	for key := range strings.SplitSeq(path, ".") {
		var m map[string]json.RawMessage
		if json.Unmarshal(data, &m) != nil {
			return nil
		}
		data = m[key]
	}
	return data
}
