package ssrf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Compressed responses are decoded, and the limit counts decoded bytes.
func TestCompressedAnswer(t *testing.T) {
	for _, test := range []struct {
		size int
		want error
	}{{1000, nil}, {maxBodyBytes, nil}, {maxBodyBytes + 1, ErrTooLarge}, {64 << 20, ErrTooLarge}} {
		text := strings.Repeat("x", test.size)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding: %q", r.Header.Get("Accept-Encoding"))
			}
			if r.Header.Get("Cookie") != "" {
				t.Error("a cookie was sent")
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Set-Cookie", "node=1; Path=/")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, text)
			_ = z.Close()
		}))
		guard, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		door := guard.ClientFor(server.URL)
		for range 2 {
			answer, err := door.HTTP.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if !errors.Is(err, test.want) || !bytes.HasPrefix([]byte(text), body) || test.want == nil && len(body) != test.size || len(body) > maxBodyBytes {
				t.Errorf("body of %d bytes: read %d, %v", test.size, len(body), err)
			}
		}
		server.Close()
	}
}
