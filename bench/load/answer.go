package load

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"goblin-actor/protocol"
)

// Outcomes of a call without a result, besides HTTP statuses and the names of errors: the result has the id of another
// request (Crossed), or the response contains neither a result nor an error (Lost).
const (
	Crossed = "crossed"
	Lost    = "lost"
)

// judge returns "" if body is a result of the request with that id, else the name of the outcome. The frame is that
// result or an error response; it is nil for all other outcomes.
func (c *Caller) judge(body []byte, id uint64) (string, *protocol.Frame) {
	var f protocol.Frame
	found := false
	look := func(message []byte) {
		var one protocol.Frame
		if one.Parse(message) == nil && (one.Kind == protocol.KindResult || one.Kind == protocol.KindError) && !found {
			f, found = one, true
		}
	}
	if c.EventStream {
		events(body, look)
	} else {
		look(body)
	}
	switch {
	case !found && c.Status != 200:
		return "HTTP " + strconv.Itoa(c.Status), nil
	case !found:
		return Lost, nil
	case f.Kind == protocol.KindError:
		return errorName(&f), &f
	case string(f.IDBytes()) != strconv.FormatUint(id, 10):
		return Crossed, nil
	case f.Failure && failed(f.ResultBytes()):
		return "isError", nil
	}
	return "", &f
}

// failed reports whether isError is set in the result itself, rather than in a value inside it.
func failed(result []byte) bool {
	var r struct{ IsError bool }
	return json.Unmarshal(result, &r) == nil && r.IsError
}

// events passes the data of every event in the stream to the function each.
func events(stream []byte, each func(data []byte)) {
	var data []byte
	for line := range strings.SplitSeq(string(stream)+"\n", "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			if len(data) > 0 {
				each(data)
			}
			data = nil
			continue
		}
		if text, ok := strings.CutPrefix(line, "data:"); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(text, " ")...)
		}
	}
}

// keyPattern matches the configuration key in an error message of the gateway, which names the exceeded limit.
var keyPattern = regexp.MustCompile(`\(((?:limits\.|queue\.)?[a-z]+[A-Za-z]*)[:)]`)

// errorName returns the name of an error: the gateway's code, with the configuration key if the message names one, or
// else the JSON-RPC code.
func errorName(f *protocol.Frame) string {
	var e struct {
		Code    json.Number
		Message string
		Data    json.RawMessage
	}
	if json.Unmarshal(f.ErrorBytes(), &e) != nil {
		return "an error without a code"
	}
	var data struct{ Code string }
	if json.Unmarshal(e.Data, &data) == nil && len(data.Code) > 0 && len(data.Code) < 40 {
		if key := keyPattern.FindStringSubmatch(e.Message); key != nil && len(key[1]) < 40 {
			return data.Code + " (" + key[1] + ")"
		}
		return data.Code
	}
	return "error " + e.Code.String()
}
