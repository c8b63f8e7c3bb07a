package ssrf

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
)

// resolverOf returns a resolver that answers each query for an IPv4 address with the next of the given addresses,
// repeating the last. Other queries get an empty answer. asked counts the queries for an IPv4 address.
func resolverOf(t *testing.T, asked *atomic.Int32, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		question := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answerTo(question[:n], asked, addresses), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answerTo answers a DNS query (RFC 1035) with an address if it asks for IPv4.
func answerTo(question []byte, asked *atomic.Int32, addresses []string) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5
	kind := binary.BigEndian.Uint16(question[end-4:])
	out := append([]byte{}, question[:2]...)
	out = append(out, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	out = append(out, question[12:end]...)
	if kind != 1 {
		return out
	}
	i := min(int(asked.Add(1)), len(addresses)) - 1
	ip := netip.MustParseAddr(addresses[i]).As4()
	out[7] = 1
	out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(out, ip[:]...)
}
