package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
)

const (
	// urlWait is how long a call that needs the person to go to a URL first waits
	// for the server's word that this is done. Servers need not give it (MCP
	// 2025-11-25, elicitation, completion notifications): then the call is made
	// again all the same, and the server says whether it is.
	urlWait = time.Minute
	// maxURLs bounds what one call may send the person to.
	maxURLs = 8
)

// callingKey is under which a call's context holds its *calling.
type callingKey struct{}

// question is one that a server has open. Its answer is waited for as long as one
// of the calls that it may belong to goes on.
type question struct {
	owners map[*calling]bool // guarded by conn.mu
	cancel context.CancelFunc
	done   chan struct{}
}

// errand is a URL that the person was sent to.
type errand struct {
	q    *tool.Elicitation
	tell tool.Elicitor
	done chan struct{} // closed at the server's word
}

// elicit answers a question of the server. The protocol does not say for which
// call it asks: where several go on, it is taken to be for any of them. Without a
// call there is nobody to ask.
func (c *conn) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	o := c.server.set.opts
	q := &tool.Elicitation{Server: c.server.cfg.Name, Message: r.Params.Message, URL: r.Params.URL, ServerID: r.Params.ElicitationID}
	if q.URL == "" && r.Params.RequestedSchema != nil {
		q.Schema = encode(r.Params.RequestedSchema)
	}
	if q.URL == "" && !o.AskForm || q.URL != "" && !o.AskURL {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this client takes no elicitation of mode " + q.Mode()}
	}
	var owners []*calling
	if cl, ok := ctx.Value(callingKey{}).(*calling); ok {
		owners = []*calling{cl}
	}
	a, _, err := c.put(ctx, q, owners)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	res := &sdk.ElicitResult{Action: string(a.Action)}
	if len(a.Content) > 0 {
		if err := json.Unmarshal(a.Content, &res.Content); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer is not an object"}
		}
	}
	return res, nil
}

// put puts a question for the calls that may have raised it; nil is all that go
// on. Where the person agreed to go to a URL the errand is returned, too.
func (c *conn) put(ctx context.Context, q *tool.Elicitation, owners []*calling) (tool.ElicitAnswer, *errand, error) {
	// Not the call's context: it is the call's end that ends the question.
	actx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // the server takes it back
	open := &question{owners: map[*calling]bool{}, cancel: cancel, done: make(chan struct{})}
	defer close(open.done)
	c.mu.Lock()
	if owners == nil {
		owners = slices.Collect(maps.Values(c.calls))
	}
	for _, cl := range owners {
		if cl.elicit != nil && !cl.over {
			open.owners[cl] = true
		}
	}
	asker := c.take(open)
	if len(open.owners) == 1 {
		q.CallID = asker.callID
	}
	c.mu.Unlock()
	if asker == nil {
		c.server.log.Warn("an MCP server asks outside a tool call; there is nobody to ask", "message", excerpt(q.Message))
		return tool.ElicitAnswer{Action: tool.FormCancel}, nil, nil
	}
	q.ID = c.server.set.opts.NewID()
	e := c.sendOff(q, asker.elicit)
	a, err := asker.elicit.Elicit(actx, q)
	c.mu.Lock()
	if e != nil && (err != nil || a.Action != tool.FormAccept) {
		if c.errands[q.ServerID] == e {
			delete(c.errands, q.ServerID)
		}
		e = nil
	}
	delete(c.questions, open)
	for cl := range open.owners {
		cl.answered()
	}
	c.mu.Unlock()
	return a, e, err
}

// take takes a question into the books and stops the clocks of its calls. It
// returns the call to ask through, nil where there is none. mu is held.
func (c *conn) take(q *question) *calling {
	var first *calling
	for cl := range q.owners {
		cl.asks()
		if first == nil || cl.token < first.token {
			first = cl
		}
	}
	if first != nil {
		c.questions[q] = true
	}
	return first
}

// leave takes a call that is at its end out of the questions, and waits for those
// that nobody else is waiting for: they are taken back.
func (c *conn) leave(cl *calling) {
	var gone []*question
	c.mu.Lock()
	cl.over = true
	delete(c.calls, cl.token)
	for q := range c.questions {
		if q.owners[cl] {
			if delete(q.owners, cl); len(q.owners) == 0 {
				gone = append(gone, q)
			}
		}
	}
	c.mu.Unlock()
	for _, q := range gone {
		q.cancel()
		<-q.done
	}
}

// sendOff notes that the person is sent to a URL; nil for a form.
func (c *conn) sendOff(q *tool.Elicitation, tell tool.Elicitor) *errand {
	if q.URL == "" || q.ServerID == "" {
		return nil
	}
	e := &errand{q: q, tell: tell, done: make(chan struct{})}
	c.mu.Lock()
	c.errands[q.ServerID] = e
	c.mu.Unlock()
	return e
}

// elicited is the server's word that what it sent the person for is done.
func (c *conn) elicited(id string) {
	c.mu.Lock()
	e := c.errands[id]
	delete(c.errands, id)
	c.mu.Unlock()
	if e == nil {
		return // not one of this connection's, or declined: to be ignored
	}
	close(e.done)
	c.server.set.run(func() {
		if err := e.tell.Elicited(c.server.set.soft, e.q); err != nil && c.server.set.soft.Err() == nil {
			c.server.log.Warn("what an MCP server says of a question was not passed on", "error", err)
		}
	})
}

// runErrands sends the person to the URLs that a call has been refused for
// (URLElicitationRequiredError, -32042), and waits. where says to which hosts. The
// error says to the model why the call cannot be made again.
func (c *conn) runErrands(ctx context.Context, cl *calling, refusal *jsonrpc.Error) (where string, err error) {
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if cl.elicit == nil || !c.server.set.opts.AskURL || json.Unmarshal(refusal.Data, &data) != nil ||
		len(data.Elicitations) == 0 || len(data.Elicitations) > maxURLs {
		return "", refusal
	}
	var waiting []*errand
	var hosts []string
	for _, p := range data.Elicitations {
		if p == nil || p.URL == "" || p.ElicitationID == "" {
			return "", refusal
		}
		q := &tool.Elicitation{Server: c.server.cfg.Name, Message: p.Message, URL: p.URL, ServerID: p.ElicitationID}
		a, e, err := c.put(ctx, q, []*calling{cl})
		if err != nil {
			return "", c.needs(refusal, "It could not be shown to the person: "+err.Error()+".")
		}
		if a.Action != tool.FormAccept {
			return "", c.needs(refusal, "The person did not agree ("+string(a.Action)+"). Do not call it again before they say so.")
		}
		waiting = append(waiting, e)
		if u, err := url.Parse(q.URL); err == nil {
			hosts = append(hosts, u.Host)
		}
	}
	where = strings.Join(hosts, ", ")
	cl.said("Waiting until the person is done at " + where + ".\n")
	limit := time.NewTimer(urlWait)
	defer limit.Stop()
	for _, e := range waiting {
		select {
		case <-e.done:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-limit.C:
			return where, nil
		}
	}
	return where, nil
}

// needs is what the model reads of a call that waits for the person.
func (c *conn) needs(refusal *jsonrpc.Error, what string) error {
	return &callError{fmt.Sprintf("The MCP server %q did not run the tool: %s. It needs the person to go to a web page first. %s", c.server.cfg.Name, strings.TrimSuffix(refusal.Message, "."), what), refusal}
}

// needParams are methods whose handlers in the SDK (v1.8.0) rely on params that it
// lets a server leave out. One of them would do so with a lock held.
var needParams = []string{"elicitation/create", "notifications/elicitation/complete", "notifications/progress"}

// guard keeps a faulty message of a server from ending or blocking the process.
func guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (res sdk.Result, err error) {
		if slices.Contains(needParams, method) {
			if v := reflect.ValueOf(r.GetParams()); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: method + " has no params"}
			}
		}
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the params of %s are faulty: %v", method, p)}
			}
		}()
		return next(ctx, method, r)
	}
}
