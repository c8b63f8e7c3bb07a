package load

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"goblin-actor/protocol"
)

// What may come instead of a result, besides the names of errors.
const (
	Crossed = "crossed"
	Lost    = "lost"
)

// judge returns "" for a result of the request with that id, else what came in its place. The frame is nil unless it is a result or an error.
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

// failed tells whether a result says isError itself, and not something inside of it.
func failed(result []byte) bool {
	var r struct{ IsError bool }
	return json.Unmarshal(result, &r) == nil && r.IsError
}

// events calls each with the data of every event of a stream.
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

// keyPattern finds the key of the configuration that our gateway's errors name: the bound that said no.
var keyPattern = regexp.MustCompile(`\(((?:limits\.|queue\.)?[a-z]+[A-Za-z]*)[:)]`)

// errorName is what an error is called: by our gateway's name for it and the key it names, else by its number.
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
