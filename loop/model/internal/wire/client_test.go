package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are made by dial.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	// dead: what is written to the connections that there are is lost.
	dead *atomic.Bool
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.dead = new(atomic.Bool)
	p.conns <- server
	return lossyConn{client, p.dead}, nil
}

// lossyConn is a connection whose other end may be gone without a word.
type lossyConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c lossyConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A connection of HTTP/2 that died without a word, as while the machine slept, is
// noticed and not used again.
func TestDeadConnection(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	own := cert.TLS.Certificates
	ca := x509.NewCertPool()
	ca.AddCert(cert.Certificate())
	cert.Close()

	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		s := &http.Server{
			TLSConfig: &tls.Config{Certificates: own, NextProtos: []string{"h2"}, Time: issued},
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
		}
		go s.ServeTLS(l, "", "") // ended by Close
		defer s.Close()
		tr := DefaultClient().Transport.(*http.Transport).Clone()
		tr.DialContext, tr.TLSClientConfig = l.dial, &tls.Config{RootCAs: ca, ServerName: "example.com", Time: issued}
		client := &http.Client{Transport: tr}
		defer client.CloseIdleConnections()
		get := func() (string, time.Duration) {
			at := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), DefaultIdleTimeout)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				return err.Error(), time.Since(at)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			return string(body), time.Since(at)
		}
		if got, _ := get(); got != "HTTP/2.0" {
			t.Fatalf("got %s", got)
		}
		l.dead.Store(true)
		if got, took := get(); got == "HTTP/2.0" || took != pingAfter+pingAnswer {
			t.Errorf("on the dead connection: %s after %v", got, took)
		}
		if got, took := get(); got != "HTTP/2.0" || took != 0 {
			t.Errorf("then: %s after %v", got, took)
		}
	})
}

// issued is a time at which the certificate of net/http/httptest holds.
func issued() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
