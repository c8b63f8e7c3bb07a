package remote

import (
	"errors"
	"testing"

	"goblin-actor/protocol/upstream"
)

// The error for an HTML page contains its title, which helps the user to recognize a wrong URL.
func TestNotMessage(t *testing.T) {
	for body, want := range map[string]string{
		"<!DOCTYPE html><HTML><title lang=en>\n Log in\n</title>": `the response is an HTML page, "Log in": not a JSON-RPC message`,
		"<html><body>hello": "the response is an HTML page: not a JSON-RPC message",
		"hello":             "read response: not a JSON-RPC message",
	} {
		if err := notMessage([]byte(body), upstream.ErrNotJSON); err.Error() != want || !errors.Is(err, upstream.ErrNotJSON) {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
}
