package cluster

import (
	"time"
	"unicode/utf8"
)

// MaxNote is how many bytes the URIs in a note may have together, as a JSON array. The client of a session with more subscriptions must
// initialize again when the session's home is gone.
const MaxNote = 8 << 10

// NoteTime is how long the home of a session waits for the heir to confirm a note. After that, it answers its client without
// the confirmation.
const NoteTime = 250 * time.Millisecond

// SubjectOfNotes returns the subject of notes for an incarnation.
func SubjectOfNotes(incarnation string) string { return "members.notes." + incarnation }

// Note is what the next home of a session must know about it, besides what its id says. The home sends it as a question to the
// session's heir (View.Heir), which keeps it and answers with a NoteAnswer.
//
//	{"cluster":"prod","from":"abcdefg2","seq":3,"session":"2…","level":"error","uris":["file:///a"]}
type Note struct {
	Cluster  string   `json:"cluster"`
	From     string   `json:"from"` // incarnation of the home
	Seq      uint64   `json:"seq"`  // a later note of the same home has a greater number
	Session  string   `json:"session"`
	Holder   string   `json:"holder,omitempty"`   // of the session's principal; "" = no principal
	Level    string   `json:"level,omitempty"`    // log level; "" = the client has set none
	URIs     []string `json:"uris,omitempty"`     // of the resources to which the client is subscribed, as the client writes them
	TooLarge bool     `json:"tooLarge,omitempty"` // URIs is empty, because the URIs have more than MaxNote bytes
	Ended    bool     `json:"ended,omitempty"`    // forget the session's note: the session has ended, or another node is its heir now
}

// NoteAnswer answers a note.
type NoteAnswer struct {
	Kept bool `json:"kept"` // false = the node has no room for it
}

// Size returns how many bytes the strings of the note have.
func (n *Note) Size() int {
	size := len(n.Session) + len(n.Holder) + len(n.Level)
	for _, uri := range n.URIs {
		size += len(uri)
	}
	return size
}

// SetURIs sets the URIs, or TooLarge if they are too large.
func (n *Note) SetURIs(uris []string) {
	if n.TooLarge = len(encode(uris)) > MaxNote; n.TooLarge {
		uris = nil
	}
	n.URIs = uris
}

// Encode returns the note as a message.
func (n *Note) Encode() []byte { return encode(n) }

// ParseNote decodes a note.
func ParseNote(message []byte) (*Note, error) {
	n := &Note{}
	if err := decodeMessage(message, n); err != nil {
		return nil, err
	}
	_, session := HomeOf(n.Session)
	switch {
	case !ValidName(n.Cluster):
		return nil, errField("note", "cluster")
	case !ValidIncarnation(n.From):
		return nil, errField("note", "from")
	case !session:
		return nil, errField("note", "session")
	case !printable(n.Holder, MaxHolder):
		return nil, errField("note", "holder")
	case !printable(n.Level, maxText):
		return nil, errField("note", "level")
	case len(encode(n.URIs)) > MaxNote || !all(n.URIs, func(uri *string) bool { return *uri != "" && utf8.ValidString(*uri) }):
		return nil, errField("note", "uris")
	}
	return n, nil
}

// Encode returns the answer as a message.
func (a *NoteAnswer) Encode() []byte { return encode(a) }

// ParseNoteAnswer decodes an answer to a note.
func ParseNoteAnswer(message []byte) (*NoteAnswer, error) {
	a := &NoteAnswer{}
	return a, decodeMessage(message, a)
}
