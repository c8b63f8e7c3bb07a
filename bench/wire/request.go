package wire

import (
	"bytes"
	"fmt"
	"slices"
)

// idDigits is how many digits every id has, so that a request can be patched in place and has always the same length.
const IDDigits = 9

const FirstID = 100_000_000

// request is a POST whose id can be changed in place.
type Request struct {
	Text []byte
	at   int // where the id's digits begin
	ID   uint64
}

// newRequest returns a POST of one JSON-RPC request to host and path. Session and version may be empty.
func NewRequest(host, path, session, version, method, params string) *Request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, FirstID, method, params)
	return RequestOf(PostHeader(host, path, session, version, len(body)), body)
}

func RequestOf(head, body string) *Request {
	text := head + body
	return &Request{Text: []byte(text), at: len(text) - len(body) + len(`{"jsonrpc":"2.0","id":`), ID: FirstID}
}

// postHead returns the header of a POST, the blank line included.
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

func DeleteRequest(host, path, session string) []byte {
	return []byte("DELETE " + path + " HTTP/1.1\r\nHost: " + host + "\r\nMcp-Session-Id: " + session + "\r\n\r\n")
}

// with puts more headers into the request.
func (r *Request) With(headers string) *Request {
	r.Text, r.at = InsertHeaders(r.Text, headers), r.at+len(headers)
	return r
}

// withHeaders puts more headers behind the first line of a request.
func InsertHeaders(text []byte, headers string) []byte {
	if headers == "" {
		return text
	}
	at := bytes.IndexByte(text, '\n') + 1
	return slices.Insert(text, at, []byte(headers)...)
}

// next gives the request its next id and returns its bytes; valid until the next call.
func (r *Request) Next() []byte {
	r.ID++
	for i, n := r.at+IDDigits-1, r.ID; i >= r.at; i, n = i-1, n/10 {
		r.Text[i] = byte('0' + n%10)
	}
	return r.Text
}

// IDText returns the digits of the id in the request.
func (r *Request) IDText() []byte { return r.Text[r.at : r.at+IDDigits] }

// ResponseHead is how every answer must begin: servers here put the id first, and nobody on the way may change that.
const ResponseHead = `{"jsonrpc":"2.0","id":`

// check reports an error unless body is the answer to r with tail, the same for every answer, behind the id.
func (r *Request) Check(w *Conn, body, tail []byte) error {
	if w.Status != 200 || w.EventStream {
		return fmt.Errorf("status %d, event stream %v: %.200q", w.Status, w.EventStream, body)
	}
	from := len(ResponseHead) + IDDigits
	if len(body) != from+len(tail) {
		return fmt.Errorf("answer of %d bytes, want %d: %.200q", len(body), from+len(tail), body)
	}
	if string(body[:len(ResponseHead)]) != ResponseHead || !bytes.Equal(body[len(ResponseHead):from], r.Text[r.at:r.at+IDDigits]) {
		return fmt.Errorf("answer to another request: %.100q, want id %d", body, r.ID)
	}
	if !bytes.Equal(body[from:], tail) {
		return fmt.Errorf("answer changed on its way: %.200q", body)
	}
	return nil
}
