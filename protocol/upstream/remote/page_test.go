package remote

import (
	"errors"
	"testing"

	"goblin-actor/protocol/upstream"
)

// A page for people is named, so that whoever wrote a wrong url sees it.
func TestNotMessage(t *testing.T) {
	for body, want := range map[string]string{
		"<!DOCTYPE html><HTML><title lang=en>\n Log in\n</title>": `the answer is an html page, "Log in": not a JSON-RPC message`,
		"<html><body>hello": "the answer is an html page: not a JSON-RPC message",
		"hello":             "read answer: not a JSON-RPC message",
	} {
		if err := notMessage([]byte(body), upstream.ErrNotJSON); err.Error() != want || !errors.Is(err, upstream.ErrNotJSON) {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
}
