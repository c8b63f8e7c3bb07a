package wire

import (
	"bytes"
	"fmt"
	"slices"
)

// IDDigits is the number of digits of every id. It is constant, so that an id can be replaced in place.
const IDDigits = 9

// FirstID is the id of a new Request. Request.Next assigns the ids after it.
const FirstID = 100_000_000

// Request is a POST whose id can be replaced in place.
type Request struct {
	Text []byte
	at   int // offset of the id's digits
	ID   uint64
}

// NewRequest returns a POST of a JSON-RPC request to host and path. session and version may be empty.
func NewRequest(host, path, session, version, method, params string) *Request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, FirstID, method, params)
	return RequestOf(PostHeader(host, path, session, version, len(body)), body)
}

// RequestOf returns a request with the given header and a JSON-RPC body whose id is FirstID.
func RequestOf(head, body string) *Request {
	text := head + body
	return &Request{Text: []byte(text), at: len(text) - len(body) + len(`{"jsonrpc":"2.0","id":`), ID: FirstID}
}

// PostHeader returns the header of a POST, including the empty line.
func PostHeader(host, path, session, version string, length int) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", path, host)
	if session != "" {
		head += "Mcp-Session-Id: " + session + "\r\n"
	}
	if version != "" {
		head += "MCP-Protocol-Version: " + version + "\r\n"
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
}

// DeleteRequest returns the request that ends a session.
func DeleteRequest(host, path, session string) []byte {
	return []byte("DELETE " + path + " HTTP/1.1\r\nHost: " + host + "\r\nMcp-Session-Id: " + session + "\r\n\r\n")
}

// With adds headers to the request.
func (r *Request) With(headers string) *Request {
	r.Text, r.at = InsertHeaders(r.Text, headers), r.at+len(headers)
	return r
}

// InsertHeaders inserts headers after the first line of a request.
func InsertHeaders(text []byte, headers string) []byte {
	if headers == "" {
		return text
	}
	at := bytes.IndexByte(text, '\n') + 1
	return slices.Insert(text, at, []byte(headers)...)
}

// Next gives the request its next id and returns the request's bytes, which are valid until the next call.
func (r *Request) Next() []byte {
	r.ID++
	for i, n := r.at+IDDigits-1, r.ID; i >= r.at; i, n = i-1, n/10 {
		r.Text[i] = byte('0' + n%10)
	}
	return r.Text
}

// IDText returns the digits of the id in the request.
func (r *Request) IDText() []byte { return r.Text[r.at : r.at+IDDigits] }

// ResponseHead is the beginning of every response. The raw servers write the id first, and the gateway and proxies must
// not change that.
const ResponseHead = `{"jsonrpc":"2.0","id":`

// Check returns an error unless body is the response to r, with tail after the id.
func (r *Request) Check(w *Conn, body, tail []byte) error {
	if w.Status != 200 || w.EventStream {
		return fmt.Errorf("status %d, event stream %v: %.200q", w.Status, w.EventStream, body)
	}
	from := len(ResponseHead) + IDDigits
	if len(body) != from+len(tail) {
		return fmt.Errorf("response of %d bytes, expected %d: %.200q", len(body), from+len(tail), body)
	}
	if string(body[:len(ResponseHead)]) != ResponseHead || !bytes.Equal(body[len(ResponseHead):from], r.Text[r.at:r.at+IDDigits]) {
		return fmt.Errorf("response to another request: %.100q, expected id %d", body, r.ID)
	}
	if !bytes.Equal(body[from:], tail) {
		return fmt.Errorf("response was changed: %.200q", body)
	}
	return nil
}
