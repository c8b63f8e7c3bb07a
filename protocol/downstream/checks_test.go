package downstream

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
)

// scan refuses invalid headers.
func TestHeaderScan(t *testing.T) {
	tests := []struct {
		name, block string
		want        refused
	}{
		{"plain", "Host: a\r\nAccept: */*\r\n\r\n", refusedNothing},
		{"empty block", "", refusedNothing},
		{"bare LF", "Host: a\nX: b\r\n\r\n", refusedMalformed},
		{"bare LF at the end", "Host: a\r\n\n", refusedMalformed},
		{"bare CR", "Host: a\rX: b\r\n\r\n", refusedMalformed},
		{"folded line", "Host: a\r\nX: b\r\n c\r\n\r\n", refusedMalformed},
		{"space before the colon", "Host : a\r\n\r\n", refusedMalformed},
		{"space in a name", "Ho st: a\r\n\r\n", refusedMalformed},
		{"no colon", "Host\r\n\r\n", refusedMalformed},
		{"no name", ": a\r\n\r\n", refusedMalformed},
		{"bytes after the end", "Host: a\r\n\r\nX: b\r\n\r\n", refusedMalformed},
		{"length and chunks", "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", refusedMalformed},
		{"chunks and length", "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", refusedMalformed},
		{"two transfer encodings", "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", refusedMalformed},
		{"list of encodings", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", refusedMalformed},
		{"identity", "Host: a\r\nTransfer-Encoding: identity\r\n\r\n", refusedMalformed},
		{"two hosts", "Host: a\r\nHost: a\r\n\r\n", refusedMalformed},
		{"two lengths", "Host: a\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\n", refusedMalformed},
		{"two origins", "Host: a\r\nOrigin: x\r\nOrigin: y\r\n\r\n", refusedMalformed},
		{"two sessions", "Host: a\r\nMcp-Session-Id: x\r\nmcp-session-id: x\r\n\r\n", refusedMalformed},
		{"two versions", "Host: a\r\nMCP-Protocol-Version: x\r\nMcp-Protocol-Version: x\r\n\r\n", refusedRepeated},
		{"two of any Mcp header", "Host: a\r\nMcp-Param-X: x\r\nA: b\r\nMCP-Param-x: y\r\n\r\n", refusedRepeated},
		{"two different Mcp headers", "Host: a\r\nMcp-Param-X: x\r\nMcp-Param-Xy: y\r\n\r\n", refusedNothing},
		{"two accepts", "Host: a\r\nAccept: text/event-stream\r\nAccept: application/json\r\n\r\n", refusedNothing},
		{"two cookies", "Host: a\r\nCookie: x\r\nCookie: y\r\n\r\n", refusedNothing},
		{"as many lines as allowed", "Host: a\r\n" + strings.Repeat("X: y\r\n", maxHeaderLines-1) + "\r\n", refusedNothing},
		{"one line more", "Host: a\r\n" + strings.Repeat("X: y\r\n", maxHeaderLines) + "\r\n", refusedHeaderSize},
	}
	for _, test := range tests {
		var h knownHeader
		if got := h.scan([]byte(test.block)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestHeaderScanValues(t *testing.T) {
	var h knownHeader
	h.scan([]byte("hOST:\t x \r\nMCP-Session-ID: s 1\r\nmcp-protocol-version:2025-11-25\r\nGoblin-Project: p\r\nLast-Event-Id:\r\n\r\n"))
	for _, pair := range [][2]string{{string(h.host), "x"}, {string(h.session), "s 1"}, {string(h.version), "2025-11-25"}, {string(h.project), "p"}} {
		if pair[0] != pair[1] {
			t.Errorf("got %q, want %q", pair[0], pair[1])
		}
	}
	if h.lastEvent == nil || len(h.lastEvent) != 0 {
		t.Errorf("an empty header is treated as absent: %v", h.lastEvent)
	}
}

// net/http parses every header block that scan accepts in the same way.
func FuzzHeaderScan(f *testing.F) {
	f.Add([]byte("Host: a\r\nContent-Length: 3\r\n\r\n"))
	f.Add([]byte("Host: a\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id:  x\t\r\n\r\n"))
	f.Fuzz(func(t *testing.T, block []byte) {
		var h knownHeader
		if h.scan(bytes.Clone(block)) != refusedNothing || len(block) == 0 {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(append([]byte("POST /mcp HTTP/1.1\r\n"), block...))))
		if err != nil {
			return // net/http is stricter; fasthttp checks the header, too
		}
		if got, want := string(h.host), r.Host; h.host != nil && got != want {
			t.Fatalf("host: got %q, net/http %q", got, want)
		}
		for name, got := range map[string][]byte{"Mcp-Session-Id": h.session, "Origin": h.origin, "Mcp-Protocol-Version": h.version} {
			if want := r.Header.Get(name); string(got) != want {
				t.Fatalf("%s: got %q, net/http %q", name, got, want)
			}
		}
		if chunked := len(r.TransferEncoding) > 0; chunked != h.chunked {
			t.Fatalf("chunked: got %v, net/http %v", h.chunked, chunked)
		}
	})
}

// protocol.md H3.
func TestAccept(t *testing.T) {
	tests := []struct {
		values              []string
		json, events, named bool
	}{
		{nil, true, true, false},
		{[]string{"application/json, text/event-stream"}, true, true, true},
		{[]string{"application/json", "text/event-stream"}, true, true, true},
		{[]string{"*/*"}, true, true, false},
		{[]string{"application/*;q=0.5"}, true, false, false},
		{[]string{"APPLICATION/JSON"}, true, false, false},
		{[]string{"text/event-stream"}, false, true, true},
		{[]string{" text/event-stream ; q=0.9 , text/html"}, false, true, true},
		{[]string{"application/json;q=0, */*;q=0.0"}, false, false, false},
		{[]string{"text/html"}, false, false, false},
		{[]string{""}, false, false, false},
	}
	for _, test := range tests {
		var a acceptSet
		for _, v := range test.values {
			a.add([]byte(v))
		}
		if a.admitsJSON() != test.json || a.admitsEvents() != test.events || a.named != test.named {
			t.Errorf("%q: got %v %v %v, want %v %v %v", test.values, a.admitsJSON(), a.admitsEvents(), a.named, test.json, test.events, test.named)
		}
	}
}

// Loopback names, listener addresses and the hosts and origins of the options are accepted.
func TestHostAndOrigin(t *testing.T) {
	checks := newHostChecks(Options{
		AllowedHosts:   []string{"mcp.example.com", "Other.example.com:8443"},
		AllowedOrigins: []string{"https://Console.example.com/", "http://localhost:3000"},
	})
	checks.listening(&net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8730})
	local := &net.TCPAddr{IP: net.IPv4(192, 168, 0, 5), Port: 8730}
	hosts := map[string]bool{
		"localhost": true, "localhost:8730": true, "LOCALHOST:1": true, "127.0.0.1:8730": true, "127.8.9.1": true,
		"[::1]:8730": true, "[::1]": true, "192.168.0.5:8730": true, "192.168.0.5": true, "10.1.2.3:8730": true,
		"mcp.example.com": true, "MCP.example.com:443": true, "other.example.com:8443": true,
		"other.example.com": false, "other.example.com:1": false, "192.168.0.6": false, "evil.com": false,
		"evil.com:8730": false, "localhost.evil.com": false, "localhost@evil.com": false, "": false, ":8730": false,
		"localhost:": true, "localhost:x": false, "[::1": false, "[::1]x": false, "a b": false, "localhost/": false,
		"127.0.0.1.evil.com": false, "0x7f.1": false, "0.0.0.0": false, "[::ffff:127.0.0.1]": true,
	}
	for host, want := range hosts {
		if got := checks.host(host, local); got != want {
			t.Errorf("host %q: got %v, want %v", host, got, want)
		}
	}
	origins := []struct {
		origin, host string
		ok, foreign  bool
	}{
		{"http://localhost:8730", "localhost:8730", true, false},
		{"http://127.0.0.1:8730", "localhost:8730", true, false},
		{"https://mcp.example.com", "mcp.example.com", true, false},
		{"https://console.example.com", "localhost:8730", true, true},
		{"http://localhost:3000", "localhost:8730", true, true},
		{"http://localhost:3001", "localhost:8730", false, false},
		{"http://localhost", "localhost:8730", false, false},
		{"http://evil.com", "localhost:8730", false, false},
		{"http://evil.com:8730", "localhost:8730", false, false},
		{"https://console.example.com.evil.com", "localhost:8730", false, false},
		{"ftp://localhost:8730", "localhost:8730", false, false},
		{"null", "localhost:8730", false, false},
		{"", "localhost:8730", false, false},
	}
	for _, test := range origins {
		if ok, foreign := checks.origin(test.origin, test.host, local); ok != test.ok || foreign != test.foreign {
			t.Errorf("origin %q at %q: got %v %v, want %v %v", test.origin, test.host, ok, foreign, test.ok, test.foreign)
		}
	}
}
