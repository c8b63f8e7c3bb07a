package relay

import (
	"bytes"
	"io"
	"testing"
)

// Whatever another node sends, its response is read within the limits.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n0\r\n\r\n",
		"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n:\n\n",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/9.9 999 ?\r\n\r\n", "",
	} {
		f.Add([]byte(seed))
	}
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := readResponseFrom(&conn{socket: &socket{}}, bytes.NewReader(text))
		if err != nil {
			return
		}
		defer r.release()
		if r.status < 200 || r.status > maxStatus || r.retryAfter < 0 || r.retryAfter > maxRetry || len(r.session) > headBytes {
			t.Fatalf("%+v", r)
		}
		if r.isStream() {
			n, _ := io.Copy(io.Discard, io.LimitReader(r, 1<<20))
			if n > int64(len(text)) {
				t.Fatalf("%d bytes from %d", n, len(text))
			}
			return
		}
		taken := 0
		pieces, err := r.readWhole(limit, func(n int) bool { taken += n; return taken <= limit })
		if err == nil && (len(bytes.Join(pieces, nil)) != int(r.length) || r.length > limit) {
			t.Fatalf("%+v", r)
		}
	})
}
