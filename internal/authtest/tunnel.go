package authtest

import (
	"io"
	"net"
	"net/http"
)

// Tunnel handles CONNECT like a proxy, but always connects to the address `to` (host:port).
func Tunnel(w http.ResponseWriter, r *http.Request, to string) {
	if r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	there, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = here.Close() }()
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(there, here) }()
	_, _ = io.Copy(here, there)
}
