package protocol

import "bytes"

// BrokenAnswerID returns the raw id of a broken response, which Parse refuses, so that its request can fail at once. It
// returns nil if the id cannot be determined or the text may be a request. head is the beginning of the text and tail its
// end; both may be the whole text. BrokenAnswerID does not allocate.
func BrokenAnswerID(head, tail []byte) []byte {
	id, method, answer := brokenEnvelope(head)
	if method || !answer {
		return nil
	}
	return idOrTail(id, tail)
}

// BrokenRequestID returns the raw id of a broken request, which Parse refuses, so that it can be answered with an error. It
// returns nil if the id cannot be determined or the text is not a request. head and tail are as for BrokenAnswerID.
// BrokenRequestID does not allocate.
func BrokenRequestID(head, tail []byte) []byte {
	id, method, answer := brokenEnvelope(head)
	if !method || answer {
		return nil
	}
	return idOrTail(id, tail)
}

// idOrTail returns id, or the id in tail if id is nil, or nil if the id is not valid.
func idOrTail(id, tail []byte) []byte {
	if id == nil {
		id = tailID(tail)
	}
	if !validID(id) {
		return nil
	}
	return id
}

// brokenEnvelope reads the members of a message up to the first error. It returns the first id, whether there is a method,
// and whether the message looks like a response. A complete object without a method counts as a response.
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

// tailID returns the value of the member "id" if it is the last member, or the last one before "jsonrpc", as some
// serializers write it. Otherwise it returns nil.
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
