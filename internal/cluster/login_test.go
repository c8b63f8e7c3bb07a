package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A sealed login opens on every node, only at its place, and only with the secret.
func TestSealLogin(t *testing.T) {
	old, fresh := NewSecret(), NewSecret()
	s, err := NewSecrets([]string{old})
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte(`{"token":"x"}`)
	sealed := s.SealLogin("abcdefg2", "login.one", plain)
	if bytes.Contains(sealed, []byte("token")) {
		t.Error("the login is not encrypted")
	}
	rotated, _ := NewSecrets([]string{fresh, old})
	if got, err := rotated.OpenLogin("login.one", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("after a rotation: %q, %v", got, err)
	}
	if !s.SealedByFirst(sealed) || rotated.SealedByFirst(sealed) || s.First() == rotated.First() || rotated.SealedByFirst(nil) {
		t.Error("it is not clear which secret has sealed the login")
	}
	other, _ := NewSecrets([]string{fresh})
	for name, open := range map[string]func() ([]byte, error){
		"another place":  func() ([]byte, error) { return s.OpenLogin("login.two", sealed) },
		"another secret": func() ([]byte, error) { return other.OpenLogin("login.one", sealed) },
		"cut":            func() ([]byte, error) { return s.OpenLogin("login.one", sealed[:len(sealed)-1]) },
		"empty":          func() ([]byte, error) { return s.OpenLogin("login.one", nil) },
		"another node": func() ([]byte, error) {
			return s.OpenLogin("login.one", bytes.Replace(sealed, []byte("abcdefg2"), []byte("abcdefg3"), 1))
		},
	} {
		if got, err := open(); !errors.Is(err, ErrSealed) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := s.OpenLogin("login.x", s.SealLogin("abcdefg2", "login.x", []byte(strings.Repeat("y", 64<<10)))); err != nil || len(got) != 64<<10 {
		t.Errorf("a large login: %d bytes, %v", len(got), err)
	}
}

func FuzzOpenLogin(f *testing.F) {
	s, err := NewSecrets([]string{NewSecret()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.SealLogin("abcdefg2", "p", []byte("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain, err := s.OpenLogin("q", b); err == nil {
			t.Fatalf("%q was opened: %q", b, plain)
		}
	})
}
