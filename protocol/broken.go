package protocol

import "bytes"

// BrokenAnswerID returns the id of what was meant as a response but is no message that Parse accepts, raw; nil when it
// cannot be told, or when it may have been a request. So whoever waits for the answer learns at once that there is none.
// head is how the text begins, tail how it ends; both may be the whole. It does not allocate.
func BrokenAnswerID(head, tail []byte) []byte {
	s := scanner{raw: trimSpace(head)}
	raw := s.raw
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	s.open(1)
	var id []byte
	answer := false
	for i := s.space(1); ; i = s.space(i + 1) {
		key := i
		if i >= len(raw) || raw[i] != '"' {
			break
		}
		if i = scanString(raw, i); i < 0 {
			break
		}
		name := string(raw[key+1 : i-1])
		if i = s.colon(i); i < 0 {
			break
		}
		switch name {
		case "method":
			return nil
		case "result", "error":
			answer = true
		}
		at := i
		if i = s.value(i); i < 0 {
			break
		}
		if name == "id" && id == nil {
			id = raw[at:i:i]
		}
		if i = s.space(i); i >= len(raw) || raw[i] != ',' {
			answer = answer || i == len(raw)-1 && raw[i] == '}' // whole, and without a method
			break
		}
	}
	if !answer {
		return nil
	}
	if id == nil {
		id = tailID(tail)
	}
	if !validID(id) {
		return nil
	}
	return id
}

// tailID returns the value of the member "id" when it is the last one, or the last but "jsonrpc", as some serializers
// have it; else nil.
func tailID(tail []byte) []byte {
	tail = trimSpace(tail)
	i := bytes.LastIndex(tail, []byte(`"id"`))
	if i < 0 {
		return nil
	}
	s := scanner{raw: tail}
	at := s.colon(i + len(`"id"`))
	if at < 0 || at >= len(tail) {
		return nil
	}
	end := scalar(tail, at)
	if end < 0 {
		return nil
	}
	rest := tail[s.space(end):]
	if version, found := bytes.CutPrefix(rest, []byte(",")); found {
		at := s.space(len(tail) - len(version))
		if !bytes.HasPrefix(tail[at:], []byte(`"jsonrpc"`)) {
			return nil
		}
		if at = s.colon(at + len(`"jsonrpc"`)); at < 0 || !bytes.HasPrefix(tail[at:], []byte(`"2.0"`)) {
			return nil
		}
		rest = tail[s.space(at+len(`"2.0"`)):]
	}
	if string(rest) != "}" {
		return nil
	}
	return tail[at:end:end]
}
