package mcp

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
)

// caller is who makes a call. All of it is optional.
type caller struct {
	// show gets what the server says of the call while it goes on.
	show func(string)
	// elicit puts the server's questions, for the tool call of that id.
	elicit tool.Elicitor
	callID string
}

// calling is a call that has not been answered. Its clock runs while the server is
// silent, and stands still while the person is asked.
type calling struct {
	caller
	token int64
	over  bool // guarded by conn.mu

	mu    sync.Mutex
	limit time.Duration
	timer *time.Timer // nil: no limit
	open  int         // questions
	ended bool
}

// name is the call's progress token.
func (cl *calling) name() string { return "call-" + strconv.FormatInt(cl.token, 10) }

// stop ends the clock and the reports: notifications may come after the answer.
func (cl *calling) stop() {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.ended, cl.show = true, nil
	if cl.timer != nil {
		cl.timer.Stop()
	}
}

func (cl *calling) said(text string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.restart()
	if cl.show != nil && text != "" {
		cl.show(text)
	}
}

// restart lets the clock begin anew. mu is held.
func (cl *calling) restart() {
	if cl.timer != nil && cl.open == 0 && !cl.ended {
		cl.timer.Reset(cl.limit)
	}
}

// asks: the call now waits for the person.
func (cl *calling) asks() {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.open++
	if cl.timer != nil {
		cl.timer.Stop()
	}
}

// answered: it does not any more.
func (cl *calling) answered() {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.open--
	cl.restart()
}

func (c *conn) progressed(n *sdk.ProgressNotificationParams) {
	name, _ := n.ProgressToken.(string)
	number, found := strings.CutPrefix(name, "call-")
	token, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil {
		return
	}
	c.mu.Lock()
	cl := c.calls[token]
	c.mu.Unlock()
	if cl != nil {
		cl.said(progressLine(n))
	}
}

func progressLine(n *sdk.ProgressNotificationParams) string {
	count := fmt.Sprintf("%.10g", n.Progress)
	if n.Total > 0 {
		count += fmt.Sprintf("/%.10g", n.Total)
	}
	if n.Message == "" {
		return count + "\n"
	}
	return strings.ToValidUTF8(n.Message, "\uFFFD") + " (" + count + ")\n"
}
