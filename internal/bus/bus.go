package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits of messages, in bytes.
const (
	MaxPayload  = 128 << 10 // of a message or an answer
	MaxQuestion = 16 << 10
	MaxSubject  = 200
)

// Limits of what waits to be sent or handled. Messages beyond them are dropped and counted.
const (
	maxWaiting      = 1024    // messages of one subscription, or messages to send
	maxWaitingBytes = 8 << 20 // of these messages
)

// longestQuestion limits how long Ask waits if its context has no earlier deadline.
const longestQuestion = 30 * time.Second

// Errors of a Bus.
var (
	ErrNoListener = errors.New("no node listens to this subject")
	ErrTooLarge   = errors.New("the message is too large for the bus")
	ErrOffline    = errors.New("the connection to the NATS server is lost")
	ErrClosed     = errors.New("the bus is closed")
)

// Bus connects the nodes of a cluster. Its methods are safe for concurrent use.
//
// A subject consists of words of letters, digits, "-" and "_", separated by dots. In the subject of a subscription, the word
// "*" stands for any word, and ">" as the last word for one or more words.
type Bus interface {
	// Publish sends a message to all subscriptions to the subject on all nodes. It never blocks. The message may be lost,
	// and is dropped if it has more than MaxPayload bytes. The bus owns the payload from now on.
	Publish(subject string, payload []byte)

	// Subscribe calls handle for each message to the subject, one at a time, on a goroutine of the subscription. If handle
	// is slow, up to 1024 messages or 8 MiB wait; further messages are dropped. After cancel has returned, one call of
	// handle may still be in progress or begin. Subscribe and cancel do not wait for handle, but they may block for up to
	// 2 seconds if an external server hangs. The error says what is wrong with the subject, or is ErrClosed.
	Subscribe(subject string, handle func(Message)) (cancel func(), err error)

	// Ask sends a question to the subscriptions to the subject, and returns the first answer. It blocks until then, until
	// ctx ends, or for 30 seconds. The question may be lost, or be answered although Ask returns an error. The errors are
	// ErrNoListener (at once), ErrTooLarge (the question has more than MaxQuestion bytes), ErrOffline, ErrClosed, those of
	// ctx, context.DeadlineExceeded after 30 seconds, and an error that says what is wrong with the subject.
	Ask(ctx context.Context, subject string, question []byte) ([]byte, error)

	// Records returns the records that the nodes share.
	Records() Records

	// Status describes the bus for operators.
	Status() Status

	// Close ends all subscriptions and questions, and disconnects from the other nodes. Handlers may still be in progress
	// when it returns. Closing twice has no effect.
	Close()
}

// Message is a message as a subscription receives it.
type Message struct {
	Subject string
	Payload []byte // owned by the handler
	respond func([]byte)
}

// NewMessage returns a message for a subscription. respond sends the answer; nil = it is not a question. NewMessage is for
// engines in other packages.
func NewMessage(subject string, payload []byte, respond func(answer []byte)) Message {
	return Message{subject, payload, respond}
}

// IsQuestion reports whether the sender of m waits for an answer.
func (m Message) IsQuestion() bool { return m.respond != nil }

// Answer answers a question. It does not block. Only the first answer to a question counts. An answer with more than
// MaxPayload bytes is dropped. Answer has no effect if m is not a question. The bus owns the payload from now on.
func (m Message) Answer(payload []byte) {
	if m.respond != nil {
		m.respond(payload)
	}
}

// Status describes a Bus.
type Status struct {
	Engine  string    // solo, embedded or external
	Nodes   []string  // embedded: names of the nodes that this node is connected to, sorted
	Server  string    // external: address of the server; "" while the connection is lost
	Lost    time.Time // external: since when there is no connection; zero while there is one
	Records time.Time // since when all calls to Records have failed; zero after a success, or without calls
	Dropped uint64    // messages that this node has dropped, for example because they were too large or too many waited
}

// CheckSubject returns an error if the subject is malformed. Wildcards are allowed in subscriptions only.
func CheckSubject(subject string, wildcards bool) error {
	if subject == "" || len(subject) > MaxSubject {
		return fmt.Errorf("subject of %d bytes; 1 to %d are allowed", len(subject), MaxSubject)
	}
	begin := 0
	for i := 0; i <= len(subject); i++ {
		if i < len(subject) && subject[i] != '.' {
			continue
		}
		word := subject[begin:i]
		if wildcards && (word == "*" || word == ">" && i == len(subject)) {
			begin = i + 1
			continue
		}
		if !plainWord(word) {
			return fmt.Errorf("subject %q: %q is not a word of letters, digits, - and _", subject, word)
		}
		begin = i + 1
	}
	return nil
}

// plainWord reports whether s consists of letters, digits, "-" and "_", and is not empty.
func plainWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// Matches reports whether a subscription to the subject pattern receives messages to the subject.
func Matches(pattern, subject string) bool {
	for {
		word, rest, more := cutWord(pattern)
		other, otherRest, otherMore := cutWord(subject)
		switch {
		case word == ">" && !more:
			return true
		case word != "*" && word != other, more != otherMore:
			return false
		case !more:
			return true
		}
		pattern, subject = rest, otherRest
	}
}
