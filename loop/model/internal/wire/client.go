package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A connection of HTTP/2 that is silent for pingAfter is asked whether it lives, and
// is dead when it does not answer within pingAnswer. Without that a connection that
// died without a word, as while the machine slept, is used again for each attempt
// until the operating system gives up on it, after a quarter of an hour.
const (
	pingAfter  = 20 * time.Second
	pingAnswer = 10 * time.Second
)

// DefaultClient carries the requests to models where the configuration names no
// other client. It is Go's own, proxies and HTTP/2 included, that writes a request
// in one go and keeps the connections of many sessions at once (Go's default is
// two a server).
var DefaultClient = sync.OnceValue(func() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok || t.DialContext == nil {
		return http.DefaultClient // somebody has put something else in its place
	}
	t = t.Clone()
	t.WriteBufferSize = oneWrite
	t.MaxIdleConnsPerHost = 16
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAnswer}
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			return partsConn{tcp}, err
		}
		return c, err
	}
	return &http.Client{Transport: t}
})

// partsConn is a connection that writes the parts of a body in one system call,
// where it is not encrypted. net/http would read them into a buffer of 32 KB, made
// for each request, and write that.
type partsConn struct{ *net.TCPConn }

// ReadFrom implements io.ReaderFrom.
func (c partsConn) ReadFrom(r io.Reader) (int64, error) {
	if l, parts := partsOf(r); parts != nil && parts.len() <= l.N {
		left := parts.take()
		n, err := left.WriteTo(c.TCPConn)
		l.N -= n
		return n, err
	}
	return c.TCPConn.ReadFrom(r)
}

// partsOf is the body in parts within what net/http gives a connection to write.
func partsOf(r io.Reader) (*io.LimitedReader, *partsReader) {
	if l, ok := r.(*io.LimitedReader); ok {
		if parts, ok := l.R.(*partsReader); ok {
			return l, parts
		}
	}
	return nil, nil
}
