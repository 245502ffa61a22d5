// Command mock is a scripted model server on loopback: Chat Completions as a
// server-sent event stream, nothing else.
//
// It obeys a directive in the last message that holds one:
//
//	[[n=2000 delay=0s steps=0 file=/abs/path]]
//
// n: text deltas of 9 bytes, one flush each; delay: the pause before each delta;
// steps: how many times to ask for the tool `read` of file before the text.
//
// It keeps no state, so that sessions may run at once, and it does not parse the
// request: the directive and the last tool result behind it are found by searching
// the bytes from their end, so that the time of a large request is the agent's and
// not ours.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// script is what a directive asks for, and how far it has got.
type script struct {
	n, steps, done int
	delay          time.Duration
	file           string
}

var (
	directive = []byte("[[n=")
	answered  = []byte(`"tool_call_id":"call_`)
)

// lastIndex is bytes.LastIndex, which reads byte by byte: a fifth of what a tool step
// took was its way through 115 KB.
func lastIndex(b, sep []byte) int {
	const window = 4 << 10
	for end := len(b); end >= len(sep); {
		start := max(0, end-window)
		found := -1
		for at := start; ; at = found + 1 {
			i := bytes.Index(b[at:end], sep)
			if i < 0 {
				break
			}
			found = at + i
		}
		if found >= 0 || start == 0 {
			return found
		}
		end = start + len(sep) - 1
	}
	return -1
}

func parse(body []byte) (s script) {
	s = script{n: 1}
	i := lastIndex(body, directive)
	if i < 0 {
		return s
	}
	rest := body[i+2:]
	j := bytes.Index(rest, []byte("]]"))
	if j < 0 {
		return s
	}
	for _, f := range strings.Fields(string(rest[:j])) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "n":
			s.n, _ = strconv.Atoi(v)
		case "steps":
			s.steps, _ = strconv.Atoi(v)
		case "delay":
			s.delay, _ = time.ParseDuration(v)
		case "file":
			s.file = v
		}
	}
	if s.steps > 0 {
		if at := lastIndex(rest[j:], answered); at >= 0 {
			id, _, _ := bytes.Cut(rest[j+at+len(answered):], []byte{'"'})
			n, _ := strconv.Atoi(string(id))
			s.done = n + 1
		}
	}
	return s
}

// delta returns the i-th text delta: 9 bytes or more, ending in a space.
func delta(dst []byte, i int) []byte {
	start := len(dst)
	dst = strconv.AppendInt(append(dst, 'w'), int64(i), 10)
	for len(dst)-start < 8 {
		dst = append(dst, '-')
	}
	return append(dst, ' ')
}

const head = `data: {"id":"mock","object":"chat.completion.chunk","created":1700000000,"model":"mock-model","choices":[{"index":0,"delta":`

func chat(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 || r.ContentLength > 256<<20 {
		http.Error(w, "mock: send a Content-Length", http.StatusLengthRequired)
		return
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return
	}
	s := parse(body)
	w.Header().Set("Content-Type", "text/event-stream")
	out, flusher := bufio.NewWriterSize(w, 64<<10), w.(http.Flusher)
	flush := func() { out.Flush(); flusher.Flush() }
	io.WriteString(out, head+`{"role":"assistant","content":""},"finish_reason":null}]}`+"\n\n")
	finish := "stop"
	if s.done < s.steps {
		finish = "tool_calls"
		fmt.Fprintf(out, head+`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"read","arguments":%q}}]},"finish_reason":null}]}`+"\n\n",
			s.done, fmt.Sprintf(`{"file_path":%q}`, s.file))
	} else if !text(r, s, out, flush) {
		return
	}
	fmt.Fprintf(out, head+`{},"finish_reason":%q}]}`+"\n\n", finish)
	io.WriteString(out, `data: {"id":"mock","object":"chat.completion.chunk","created":1700000000,"model":"mock-model","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`+"\n\ndata: [DONE]\n\n")
	flush()
}

// text streams the deltas; false when the client has gone.
func text(r *http.Request, s script, out *bufio.Writer, flush func()) bool {
	gone := r.Context().Done()
	line := make([]byte, 0, 512)
	for i := range s.n {
		if s.delay > 0 {
			select {
			case <-gone:
				return false
			case <-time.After(s.delay):
			}
		} else if i&255 == 0 && r.Context().Err() != nil {
			return false
		}
		line = append(append(line[:0], head...), `{"content":"`...)
		line = append(delta(line, i), `"},"finish_reason":null}]}`+"\n\n"...)
		out.Write(line)
		flush()
	}
	return true
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen address, loopback only")
	flag.Parse()
	host, _, err := net.SplitHostPort(*addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		log.Fatal("mock: -addr must be a loopback IP and a port")
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", ln.Addr()) // the driver reads where we are
	http.HandleFunc("POST /v1/chat/completions", chat)
	log.Fatal(http.Serve(ln, nil))
}
