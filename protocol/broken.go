package protocol

import "bytes"

// BrokenAnswerID returns the id of what was meant as a response but is no message that Parse accepts, raw; nil when it
// cannot be told, or when it may have been a request. So whoever waits for the answer learns at once that there is none.
// head is how the text begins, tail how it ends; both may be the whole. It does not allocate.
func BrokenAnswerID(head, tail []byte) []byte {
	id, method, answer := brokenEnvelope(head)
	if method || !answer {
		return nil
	}
	return idOrTail(id, tail)
}

// BrokenRequestID returns the id of what was meant as a request but is no message that Parse accepts, raw; nil when it
// cannot be told, or when it was no request. head and tail are as for BrokenAnswerID, so that whoever asked learns at once
// that there is no answer. It does not allocate.
func BrokenRequestID(head, tail []byte) []byte {
	id, method, answer := brokenEnvelope(head)
	if !method || answer {
		return nil
	}
	return idOrTail(id, tail)
}

// idOrTail is the id, or else that in the tail; nil when there is none, or none that is valid.
func idOrTail(id, tail []byte) []byte {
	if id == nil {
		id = tailID(tail)
	}
	if !validID(id) {
		return nil
	}
	return id
}

// brokenEnvelope reads a message's members as far as they can be read: the first id, whether there is a method, and
// whether it looks like an answer. Text that is whole and has no method does, too.
func brokenEnvelope(head []byte) (id []byte, method, answer bool) {
	s := scanner{raw: trimSpace(head)}
	raw := s.raw
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false, false
	}
	s.open(1)
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
			method = true
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
			whole := i == len(raw)-1 && raw[i] == '}'
			answer = answer || whole && !method
			break
		}
	}
	return id, method, answer
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
