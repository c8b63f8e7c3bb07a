package protocol

import (
	"strconv"

	"goblin-actor/protocol/rawjson"
)

const head = `{"jsonrpc":"2.0"`

// AppendRequest appends a request. method needs no escaping; params is raw JSON, nil = no params.
func AppendRequest(dst []byte, id uint64, method string, params []byte) []byte {
	dst = rawjson.Grow(dst, len(head)+len(method)+len(params)+52)
	dst = append(dst, head+`,"id":`...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(dst, `,"method":`...)
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification. method needs no escaping; params is raw JSON, nil = no params.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = rawjson.Grow(dst, len(head)+len(method)+len(params)+32)
	dst = append(dst, head+`,"method":`...)
	return appendCall(dst, method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = rawjson.AppendQuoted(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends the response to the request with the given raw id. result is raw JSON.
func AppendResult(dst, rawID, result []byte) []byte {
	dst = rawjson.Grow(dst, len(head)+len(rawID)+len(result)+20)
	dst = append(dst, head+`,"id":`...)
	dst = append(dst, rawID...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends an error response. If the request's id is unknown, pass nil for a modern client, which omits the
// id, and []byte("null") for a legacy client. data is raw JSON, nil = none.
func AppendError(dst, rawID []byte, code int, message string, data []byte) []byte {
	dst = rawjson.Grow(dst, len(head)+len(rawID)+len(message)+len(data)+72)
	dst = append(dst, head...)
	if rawID != nil {
		dst = append(dst, `,"id":`...)
		dst = append(dst, rawID...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendQuoted(dst, message)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, "}}"...)
}

// Message is a JSON-RPC message to be written to a peer.
type Message struct {
	Frame   []byte
	Newline bool // Frame has newlines between tokens, which must become spaces on stdio and SSE
}

// Message returns the unmodified frame for writing.
func (f *Frame) Message() Message { return Message{f.Raw, f.Newline} }

// AppendLine appends a message as one line for stdio. Newlines between tokens become spaces; a parsed frame has none inside
// strings.
func AppendLine(dst []byte, msg Message) []byte {
	dst = rawjson.Grow(dst, len(msg.Frame)+1)
	return append(appendFlat(dst, msg), '\n')
}

// AppendSSE appends a message as a server-sent event. event and id are omitted if empty. They must not contain newlines.
func AppendSSE(dst []byte, event, id string, msg Message) []byte {
	dst = rawjson.Grow(dst, len(event)+len(id)+len(msg.Frame)+24)
	if event != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, event...)
		dst = append(dst, '\n')
	}
	if id != "" {
		dst = append(dst, "id: "...)
		dst = append(dst, id...)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	return append(appendFlat(dst, msg), "\n\n"...)
}

func appendFlat(dst []byte, msg Message) []byte {
	if msg.Newline {
		return rawjson.AppendOneLine(dst, msg.Frame)
	}
	return append(dst, msg.Frame...)
}
