package cluster

import "strings"

// EndedKeyLength is the length of the part of a session id by which nodes remember that the session has ended: its nonce.
const EndedKeyLength = 16

// MaxEnded is the maximum number of ended sessions in one answer.
const MaxEnded = 1000

// EndedTime is how long nodes remember that a session has ended, in seconds.
const EndedTime = 24 * 60 * 60

// EndedKey identifies a session of the cluster. It does not contain enough to use the session.
type EndedKey [EndedKeyLength]byte

// EndedSession says that the client of a session, or an operator, has ended it.
//
//	{"key":"AbCdEfGhIjKlMnOp","age":12}
type EndedSession struct {
	Key string `json:"key"` // EndedKey
	Age int64  `json:"age"` // seconds since the end
}

// EndedKeyOf returns the key of a session, or false if the id does not have the form of a session id of a cluster. It does not check
// the seal.
func EndedKeyOf(id string) (key EndedKey, ok bool) {
	if _, ok := headOf(id); !ok {
		return key, false
	}
	copy(key[:], id[len(sessionFormat):])
	return key, true
}

const keyCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (e *EndedSession) valid() bool {
	return len(e.Key) == EndedKeyLength && strings.Trim(e.Key, keyCharacters) == "" && 0 <= e.Age && e.Age <= maxAge
}
