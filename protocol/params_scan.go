package protocol

import "goblin-actor/protocol/rawjson"

// Keys of params, in the order of paramKeys.
const (
	paramName field = iota + 1
	paramURI
	paramCursor
	paramLevel
	paramRequestID
	paramTaskID
	paramArguments
	paramInputResponses
	paramRequestState
	paramNotifications
	paramRef
	paramToken
	paramVersion
	paramCapabilities
	paramClientInfo
	paramMeta
)

var paramKeys = newKeys(findParam, "name", "uri", "cursor", "level", "requestId", "taskId", "arguments", "inputResponses",
	"requestState", "notifications", "ref", "progressToken", "protocolVersion", "capabilities", "clientInfo", "_meta")

func findParam(key []byte) field {
	switch string(key) {
	case "name":
		return paramName
	case "uri":
		return paramURI
	case "cursor":
		return paramCursor
	case "level":
		return paramLevel
	case "requestId":
		return paramRequestID
	case "taskId":
		return paramTaskID
	case "arguments":
		return paramArguments
	case "inputResponses":
		return paramInputResponses
	case "requestState":
		return paramRequestState
	case "notifications":
		return paramNotifications
	case "ref":
		return paramRef
	case "progressToken":
		return paramToken
	case "protocolVersion":
		return paramVersion
	case "capabilities":
		return paramCapabilities
	case "clientInfo":
		return paramClientInfo
	case "_meta":
		return paramMeta
	}
	return 0
}

// Keys of params.ref, in the order of refKeys.
const (
	refName field = iota + 1
	refURI
)

var refKeys = newKeys(findRef, "name", "uri")

func findRef(key []byte) field {
	switch string(key) {
	case "name":
		return refName
	case "uri":
		return refURI
	}
	return 0
}

// Keys of params._meta, in the order of metaKeys.
const (
	metaProgressToken field = iota + 1
	metaProject
	metaProjectID
	metaPrefer
	metaVersion
	metaCapabilities
	metaClientInfo
	metaLogLevel
	metaSubscriptionID
)

var metaKeys = newKeys(findMeta, "progressToken", "goblin-actor/project", "projectId", "goblin-actor/prefer",
	"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
	"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId")

func findMeta(key []byte) field {
	switch string(key) {
	case "progressToken":
		return metaProgressToken
	case "goblin-actor/project":
		return metaProject
	case "projectId":
		return metaProjectID
	case "goblin-actor/prefer":
		return metaPrefer
	case "io.modelcontextprotocol/protocolVersion":
		return metaVersion
	case "io.modelcontextprotocol/clientCapabilities":
		return metaCapabilities
	case "io.modelcontextprotocol/clientInfo":
		return metaClientInfo
	case "io.modelcontextprotocol/logLevel":
		return metaLogLevel
	case "io.modelcontextprotocol/subscriptionId":
		return metaSubscriptionID
	}
	return 0
}

// Scan finds the members of a parsed frame's params that the gateway reads. It allocates only for errors.
// A null member counts as absent. Array params have no members.
//
// Scan fails with a *ParseError of code -32602 if a known key occurs twice in any spelling (ErrDuplicate), or if its
// value has the wrong type (ErrShape). Unless the method is MethodOther, it also fails if a key of ref is in another
// case (ErrDuplicate). A value of the wrong type counts as absent instead if the method is MethodOther (except for
// goblin-actor/project), or if it is the version, capabilities or client info in _meta. After an error, p still holds
// all valid members. For a repeated key it holds the first.
func (p *Params) Scan(f *Frame) error {
	*p = Params{}
	s := paramScan{raw: f.Raw, strict: f.Method != MethodOther}
	s.top(p, f.Params)
	p.Odd = s.odd
	return s.err
}

type paramScan struct {
	raw    []byte
	strict bool  // a value of the wrong type is an error
	odd    bool  // see Params.Odd
	err    error // the first error
}

// note returns the field of the walker's key, or 0 if it is unknown or repeated.
func (s *paramScan) note(keys *keyTable, seen *keysSeen, w *rawjson.Walker) field {
	field := keys.note(seen, w.Key)
	if seen.twice {
		seen.twice = false
		s.fail(&ParseError{Code: codeInvalidParams, Msg: "params: a key occurs twice", Offset: w.KeyAt, Kind: ErrDuplicate})
		return 0
	}
	return field
}

func (s *paramScan) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *paramScan) top(p *Params, params rawjson.Span) {
	var seen keysSeen
	var ref rawjson.Span
	for w := rawjson.WalkMembers(s.raw, params); w.Next(); {
		field := s.note(paramKeys, &seen, &w)
		s.odd = s.odd || seen.odd
		var to *rawjson.Span
		want := wantString
		switch field {
		case 0:
			continue
		case paramName:
			to = &p.Name
		case paramURI:
			to = &p.URI
		case paramCursor:
			to = &p.Cursor
		case paramLevel:
			to = &p.Level
		case paramTaskID:
			to = &p.TaskID
		case paramRequestState:
			to = &p.RequestState
		case paramVersion:
			to = &p.Version
		case paramRequestID:
			to, want = &p.RequestID, wantID
		case paramToken:
			to, want = &p.Token, wantID
		case paramArguments:
			to, want = &p.Arguments, wantObject
		case paramInputResponses:
			to, want = &p.InputResponses, wantObject
		case paramNotifications:
			to, want = &p.Notifications, wantObject
		case paramCapabilities:
			to, want = &p.Capabilities, wantObject
		case paramClientInfo:
			to, want = &p.ClientInfo, wantObject
		case paramMeta:
			to, want = &p.Meta, wantObject
		case paramRef:
			to, want = &ref, wantObject
		}
		s.take(to, want, "params.", paramKeys.names[field], w.Value)
	}
	s.ref(p, ref)
	s.meta(p, p.Meta)
}

func (s *paramScan) ref(p *Params, ref rawjson.Span) {
	var seen keysSeen
	for w := rawjson.WalkMembers(s.raw, ref); w.Next(); {
		field := s.note(refKeys, &seen, &w)
		if seen.odd && s.strict { // lenient decoders accept it, so the gateway and the server could read different values
			s.fail(&ParseError{Code: codeInvalidParams, Msg: "params.ref: the keys name and uri must be lower case", Offset: w.KeyAt, Kind: ErrDuplicate})
		}
		to := &p.RefURI
		switch field {
		case 0:
			continue
		case refName:
			to = &p.RefName
		}
		s.take(to, wantString, "params.ref.", refKeys.names[field], w.Value)
	}
}

func (s *paramScan) meta(p *Params, meta rawjson.Span) {
	var seen keysSeen
	for w := rawjson.WalkMembers(s.raw, meta); w.Next(); {
		field := s.note(metaKeys, &seen, &w)
		s.odd = s.odd || seen.odd
		var to *rawjson.Span
		want := wantString
		switch field {
		case 0:
			continue
		case metaProgressToken:
			to, want = &p.ProgressToken, wantID
		case metaProject:
			to = &p.Project
		case metaProjectID:
			to = &p.ProjectID
		case metaPrefer:
			to, want = &p.Prefer, wantObject
		case metaVersion:
			to = &p.MetaVersion
		case metaCapabilities:
			to, want = &p.MetaCapabilities, wantObject
		case metaClientInfo:
			to, want = &p.MetaClientInfo, wantObject
		case metaLogLevel:
			to = &p.MetaLogLevel
		case metaSubscriptionID:
			to, want = &p.SubscriptionID, wantID
		}
		// Values of the wrong type for these keys count as absent, because CheckModern returns the right error for a missing
		// version or missing capabilities.
		strict := s.strict
		s.strict = strict && field != metaVersion && field != metaCapabilities && field != metaClientInfo || field == metaProject // the gateway's own key is checked for every method
		s.take(to, want, "params._meta.", metaKeys.names[field], w.Value)
		s.strict = strict
	}
}

// wanted is the required type of a member.
type wanted uint8

const (
	wantString wanted = iota
	wantObject
	wantID
)

func (w wanted) String() string { return [...]string{"string", "object", "string or integer"}[w] }

// take stores the value in to if it has the required type.
func (s *paramScan) take(to *rawjson.Span, want wanted, where, name string, value rawjson.Span) {
	c := s.raw[value.Off]
	ok := false
	switch want {
	case wantString:
		ok = c == '"'
	case wantObject:
		ok = c == '{'
	case wantID:
		ok = validID(value.Of(s.raw))
	}
	if ok {
		*to = value
		return
	}
	s.odd = true
	if c != 'n' && s.strict {
		s.fail(&ParseError{Code: codeInvalidParams, Msg: where + name + ": want " + want.String(), Offset: int(value.Off), Kind: ErrShape})
	}
}
