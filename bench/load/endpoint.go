package load

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"goblin-actor/bench/wire"
)

// Endpoint is any MCP endpoint.
type Endpoint struct {
	url     *url.URL
	headers string // additional request headers, each with its line end
}

// NewEndpoint returns an endpoint whose requests have additional headers, each in the form "Name: value".
func NewEndpoint(u *url.URL, headers []string) *Endpoint {
	p := &Endpoint{url: u}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		p.headers += strings.TrimSpace(name) + ": " + strings.TrimSpace(value) + "\r\n"
	}
	return p
}

func (p *Endpoint) dial() (*wire.Conn, error) {
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	at := net.JoinHostPort(p.url.Hostname(), port)
	if p.url.Scheme != "https" {
		return wire.Dial("tcp", at)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", at, nil)
	if err != nil {
		return nil, err
	}
	return wire.NewConn(conn), nil
}

// text inserts the headers of p after the first line of a request.
func (p *Endpoint) text(request string) string {
	line, rest, _ := strings.Cut(request, "\r\n")
	return line + "\r\n" + p.headers + rest
}

func (p *Endpoint) request(r *wire.Request) *wire.Request {
	head, body, _ := strings.Cut(string(r.Text), "\r\n\r\n")
	return wire.RequestOf(p.text(head)+"\r\n\r\n", body)
}

func (p *Endpoint) path() string { return p.url.RequestURI() }
