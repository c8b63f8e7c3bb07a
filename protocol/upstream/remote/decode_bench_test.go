package remote

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// slowListener limits the total send rate of its connections.
type slowListener struct {
	net.Listener
	bytesPerSecond int
	mu             sync.Mutex
	free           time.Time // when all data so far is sent
}

func (l *slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &slowConn{conn, l}, err
}

type slowConn struct {
	net.Conn
	link *slowListener
}

func (c *slowConn) Write(p []byte) (n int, err error) {
	const packets = 4 << 10
	for n < len(p) && err == nil {
		part := p[n:min(len(p), n+packets)]
		c.link.mu.Lock()
		const late = 50 * time.Millisecond // compensates for sleeps that took too long
		if now := time.Now(); now.Sub(c.link.free) > late {
			c.link.free = now
		}
		c.link.free = c.link.free.Add(time.Duration(len(part)) * time.Second / time.Duration(c.link.bytesPerSecond))
		wait := time.Until(c.link.free)
		c.link.mu.Unlock()
		time.Sleep(wait)
		var m int
		m, err = c.Conn.Write(part)
		n += m
	}
	return n, err
}

var slowList = flag.String("slowlist", "", "file of tool definitions for BenchmarkSlowList, one a line")

// benchList returns a list of tools of about size bytes. Without -slowlist, descriptions are sentences of the
// project's documentation.
func benchList(b *testing.B, size int) []byte {
	b.Helper()
	if *slowList != "" {
		text, err := os.ReadFile(*slowList)
		if err != nil {
			b.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		list := append([]byte(`{"tools":[`), lines[0]...)
		for i := 1; len(list) < size; i++ {
			list = append(append(list, ','), lines[i%len(lines)]...)
		}
		return append(list, "]}"...)
	}
	files, _ := filepath.Glob("../../../docs/*.md")
	var sentences []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		sentences = append(sentences, strings.SplitAfter(string(text), ". ")...)
	}
	next := 0
	sentence := func() string {
		next++
		return sentences[next%len(sentences)]
	}
	type object = map[string]any
	tools, n := []any{}, 0
	for n < size {
		tool := object{"name": fmt.Sprintf("tool_%d", len(tools)), "description": sentence() + sentence(), "inputSchema": object{
			"type": "object", "required": []string{"path"}, "additionalProperties": false, "properties": object{
				"path": object{"type": "string", "description": sentence()}, "limit": object{"type": "integer", "minimum": 1, "description": sentence()}}}}
		raw, err := json.Marshal(tool)
		if err != nil {
			b.Fatal(err)
		}
		tools, n = append(tools, tool), n+len(raw)
	}
	list, err := json.Marshal(object{"tools": tools})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// BenchmarkSlowList fetches a list of 1 MiB over a connection of 10 Mbit/s, alternating between plain and gzip. × is
// the ratio of the times.
func BenchmarkSlowList(b *testing.B) {
	list, sent := benchList(b, 1<<20), map[string]int{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		answer := testResult(body, string(list))
		w.Header().Set("Content-Type", "application/json")
		if q.Header.Get("Accept-Encoding") != "gzip" {
			sent["plain"] = len(answer)
			_, _ = w.Write(answer)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		counted := &countingWriter{Writer: w}
		z := gzip.NewWriter(counted)
		_, _ = z.Write(answer)
		_ = z.Close()
		sent["gzip"] = counted.n
	}))
	server.Listener = &slowListener{Listener: server.Listener, bytesPerSecond: 10_000_000 / 8}
	server.Start()
	defer server.Close()
	took := map[string]time.Duration{}
	links := map[string]upstream.Link{}
	records := map[string]*linktest.Recorder{}
	for name, encoding := range map[string]string{"plain": "identity", "gzip": "gzip"} {
		records[name] = linktest.New(b)
		links[name] = OpenHTTP(Options{URL: server.URL, Headers: map[string]string{"Accept-Encoding": encoding}}, records[name].Sink)
	}
	ticket := uint64(0)
	for b.Loop() {
		ticket++
		for _, name := range []string{"plain", "gzip"} {
			began := time.Now()
			links[name].Send(testRequest(ticket))
			if e, ok := testEnd(records[name], ticket).(upstream.Received); !ok || len(e.Frame.Raw) < len(list) {
				b.Fatalf("%s: %v", name, e)
			}
			took[name] += time.Since(began)
		}
	}
	for name, l := range links {
		b.ReportMetric(float64(took[name].Milliseconds())/float64(b.N), "ms-"+name)
		b.ReportMetric(float64(sent[name])/1000, "kB-"+name)
		l.Close(0)
		linktest.Wait[upstream.Closed](records[name], 1)
	}
	b.ReportMetric(took["plain"].Seconds()/took["gzip"].Seconds(), "×")
}

type countingWriter struct {
	io.Writer
	n int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n += n
	return n, err
}
