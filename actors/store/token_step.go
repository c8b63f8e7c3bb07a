package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// maxUnread limits the waiting requests to read a login.
const maxUnread = message.MaxTokens

// Error texts for logins that are not on disk or cannot be read.
const (
	notKept   = "it is kept in memory only, because the state file is not in use"
	notGone   = "the state file cannot be used, so a login that it contains was not removed"
	overtaken = "a newer value replaced it before it was written"
	noRoom    = "the state file is full; it holds the maximum number of logins"
	tooLarge  = "its key or its value is too large"
	tooMany   = "too many reads are waiting"
)

// rememberToken stores a login. It is written at once, or right after the write in progress, since its sender may
// wait.
func (s *state) rememberToken(m message.RememberToken, out []kernel.Effect) []kernel.Effect {
	was, waits := s.dirty.tokens[m.Key]
	asks := requestID{m.From, m.Number}
	switch {
	case s.phase == memory:
		return asks.tell(m.Key, s.withoutFile(m.Value), out)
	case m.Key == "" || len(m.Key) > message.MaxTokenKey || len(m.Value) > message.MaxTokenBytes:
		return asks.tell(m.Key, tooLarge, out)
	case !waits && len(s.dirty.tokens) >= message.MaxTokens:
		return asks.tell(m.Key, noRoom, out)
	case waits:
		out = was.by.tell(m.Key, overtaken, out)
	}
	s.dirty.tokens[m.Key] = pendingToken{m.Value, asks}
	return s.write(out)
}

// tokensWritten answers the senders of the logins in a write.
func (*state) tokensWritten(m written, out []kernel.Effect) []kernel.Effect {
	failed := ""
	if m.err != nil {
		failed = fmt.Sprintf("the state file cannot be written: %v", m.err)
	}
	for _, key := range slices.Sorted(maps.Keys(m.batch.tokens)) {
		text := failed
		if text == "" && m.refused[key] {
			text = noRoom
		}
		out = m.batch.tokens[key].by.tell(key, text, out)
	}
	return out
}

// tell answers the request, if there is one.
func (w requestID) tell(key, failed string, out []kernel.Effect) []kernel.Effect {
	if w.from == (kernel.Reference{}) {
		return out
	}
	return append(out, kernel.Tell(w.from, message.TokenStored{Key: key, Number: w.number, Err: failed}))
}

// withoutFile returns the result of storing or removing a login without a file: "" or an error. Removing one succeeds only
// if no file is configured, since an unusable file may still contain the login.
func (s *state) withoutFile(value message.Token) string {
	switch {
	case value != nil:
		return notKept
	case s.path != "":
		return notGone
	}
	return ""
}

// readToken answers from the pending changes, or reads the file.
func (s *state) readToken(m message.ReadToken, out []kernel.Effect) []kernel.Effect {
	if s.phase == memory {
		return append(out, kernel.Tell(m.From, message.TokenRead{Key: m.Key, Err: notKept}))
	}
	for _, b := range []batch{s.dirty, s.inFlight} {
		if token, waits := b.tokens[m.Key]; waits {
			return append(out, kernel.Tell(m.From, message.TokenRead{Key: m.Key, Value: bytes.Clone(token.value)}))
		}
	}
	if len(s.unread) >= maxUnread {
		return append(out, kernel.Tell(m.From, message.TokenRead{Key: m.Key, Err: tooMany}))
	}
	s.unread = append(s.unread, m)
	return s.readNext(out)
}

// readNext reads the requested logins, unless a read is in progress.
func (s *state) readNext(out []kernel.Effect) []kernel.Effect {
	if s.phase != kept || len(s.reading) > 0 || len(s.unread) == 0 {
		return out
	}
	s.reading, s.unread = s.unread, nil
	return append(out, kernel.Act(readRequestedTokens{s.path, s.vault, s.reading}))
}

// tokensRead answers the requests.
func (s *state) tokensRead(answers []message.TokenRead, out []kernel.Effect) []kernel.Effect {
	for i, m := range s.reading {
		if i < len(answers) {
			out = append(out, kernel.Tell(m.From, answers[i]))
		}
	}
	s.reading = nil
	return s.readNext(out)
}

// answerAll answers all waiting requests, since the file is no longer used.
func (s *state) answerAll(out []kernel.Effect) []kernel.Effect {
	for _, b := range []batch{s.dirty, s.inFlight} {
		for _, key := range slices.Sorted(maps.Keys(b.tokens)) {
			out = b.tokens[key].by.tell(key, s.withoutFile(b.tokens[key].value), out)
		}
	}
	for _, m := range append(s.reading, s.unread...) {
		out = append(out, kernel.Tell(m.From, message.TokenRead{Key: m.Key, Err: notKept}))
	}
	s.inFlight, s.reading, s.unread = newBatch(), nil, nil
	return out
}

// readRequested reads the requested logins in one transaction.
func readRequested(a readRequestedTokens) []message.TokenRead {
	answers := make([]message.TokenRead, len(a.asked))
	err := withFile(a.path, true, readWait, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if err := checkFormat(tx, a.vault); err != nil {
				return err
			}
			for i, m := range a.asked {
				answers[i].Key = m.Key
				value, err := readToken(tx, a.vault, m.Key)
				if err != nil {
					answers[i].Err = err.Error()
				}
				answers[i].Value = value
			}
			return nil
		})
	})
	if err == nil {
		return answers
	}
	if errors.Is(err, errPlain) {
		err = errForeign
	}
	for i, m := range a.asked {
		answers[i] = message.TokenRead{Key: m.Key, Err: fmt.Sprintf("the state file cannot be read: %v", err)}
	}
	return answers
}
