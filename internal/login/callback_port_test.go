package login

import (
	"errors"
	"net"
	"slices"
	"testing"
)

// The listener prefers the same port, for which a client may be registered, and uses another if it is taken. A
// requested port is the only one that it tries.
func TestPreferredPort(t *testing.T) {
	const usual, free = "127.0.0.1:8739", "127.0.0.1:0"
	for _, c := range []struct {
		port  uint16
		taken string
		want  []string // addresses tried, in order
		fails bool
	}{
		{0, "", []string{usual}, false},
		{0, usual, []string{usual, free}, false},
		{8731, "", []string{"127.0.0.1:8731"}, false},
		{8731, "127.0.0.1:8731", []string{"127.0.0.1:8731"}, true},
	} {
		var tried []string
		_, err := listenLocal(c.port, func(_, address string) (net.Listener, error) {
			tried = append(tried, address)
			if address == c.taken {
				return nil, errors.New("taken")
			}
			return nil, nil
		})
		if !slices.Equal(tried, c.want) || (err != nil) != c.fails {
			t.Errorf("port %d, taken %q: tried %q, error %v; want %q, an error: %v", c.port, c.taken, tried, err, c.want, c.fails)
		}
	}
}

// Two concurrent logins have separate listeners.
func TestConcurrentListeners(t *testing.T) {
	first, err := ListenCallback(0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := ListenCallback(0)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if first.URL == second.URL {
		t.Errorf("both listeners have the URL %s", first.URL)
	}
}
