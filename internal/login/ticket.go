package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

const (
	ticketLife = 10 * time.Minute
	maxTicket  = 2 << 10 // bytes of a ticket as text
)

var errTicket = errors.New("this login link is invalid or has expired; call the tool again to get a new one")

// sealer seals tickets with keys of this process. Tickets are valid for minutes, so they need not survive a restart.
type sealer struct {
	aead cipher.AEAD
	csrf [32]byte
}

// ticket is the content of a loginUrl.
type ticket struct {
	Login Key
	Until int64 // Unix seconds
}

func newSealer() *sealer {
	var key [32]byte
	s := new(sealer)
	_, _ = rand.Read(key[:]) // never fails
	_, _ = rand.Read(s.csrf[:])
	block, err := aes.NewCipher(key[:])
	if err == nil {
		s.aead, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err != nil {
		panic("login tickets: " + err.Error()) // the key has the right length
	}
	return s
}

func (s *sealer) seal(key Key, now time.Time) string {
	plain, err := json.Marshal(ticket{key, now.Add(ticketLife).Unix()})
	if err != nil {
		panic("login ticket: " + err.Error()) // strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, nil))
}

func (s *sealer) open(text string, now time.Time) (Key, error) {
	if len(text) > maxTicket {
		return Key{}, errTicket
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Key{}, errTicket
	}
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	var t ticket
	if err != nil || json.Unmarshal(plain, &t) != nil || now.Unix() >= t.Until {
		return Key{}, errTicket
	}
	return t.Login, nil
}

// formToken returns the CSRF token of the page for a ticket.
func (s *sealer) formToken(ticket string) string {
	mac := hmac.New(sha256.New, s.csrf[:])
	mac.Write([]byte(ticket))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
