package tui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// soakEnv makes the test binary one of the peers of TestSoak: "server", "flaps" or "load".
const soakEnv = "GOBLIN_SOAK"

const (
	soakTools    = 10_000
	soakSessions = 1000
	soakWorkers  = 20
	soakPause    = 50 * time.Millisecond // of a worker between two calls; about 400 calls a second in all
)

// soakPeer runs the peer that the environment names. It returns false if there is none.
func soakPeer() bool {
	switch os.Getenv(soakEnv) {
	case "server":
		soakServer(os.Stdin, os.Stdout, soakTools)
	case "flaps":
		go soakFlaps()
		soakServer(os.Stdin, os.Stdout, 3)
	case "load":
		if err := soakLoad(os.Getenv("GOBLIN_SOAK_URL"), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		return false
	}
	return true
}

// soakFlaps writes a line to stderr every 10 ms, and ends the process after three seconds.
func soakFlaps() {
	for i := range 300 {
		fmt.Fprintf(os.Stderr, "line %d: nothing happened, and it took its time\n", i)
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "Error: out of luck")
	os.Exit(3)
}

// soakServer is an MCP server with many tools.
func soakServer(in io.Reader, out io.Writer, tools int) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor          string
				ProtocolVersion string
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"unknown method"}`
		switch m.Method {
		case "initialize":
			answer = fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"soak","version":"1"}}`, m.Params.ProtocolVersion)
		case "ping":
			answer = `"result":{}`
		case "tools/list":
			answer = `"result":` + soakPage(m.Params.Cursor, tools)
		case "tools/call":
			answer = `"result":{"content":[{"type":"text","text":"done"}]}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// soakPage returns a page of tools/list.
func soakPage(cursor string, tools int) string {
	var b bytes.Buffer
	from, _ := strconv.Atoi(cursor)
	to := min(from+1000, tools)
	b.WriteString(`{"tools":[`)
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"thing_%05d","description":"Do thing %d, which takes a path and a number.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}}}}`, i, i)
	}
	b.WriteByte(']')
	if to < tools {
		fmt.Fprintf(&b, `,"nextCursor":"%d"`, to)
	}
	b.WriteByte('}')
	return b.String()
}

// soakLoad holds many sessions and calls tools in them until in ends. One call in twenty is for a tool that does not exist.
// At the end, soakLoad ends the sessions.
func soakLoad(url string, in io.Reader) error {
	load := &soakClient{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakWorkers}}}
	sessions := make([]string, soakSessions)
	for i := range sessions {
		var err error
		if sessions[i], err = load.begin(i); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	var workers sync.WaitGroup
	for w := range soakWorkers {
		workers.Go(func() {
			for i := w; ; i += soakWorkers {
				tool := fmt.Sprintf("big_thing_%05d", i%soakTools)
				if i/soakWorkers%20 == 0 {
					tool = "big_no_thing"
				}
				_, _ = load.post(sessions[i%soakSessions], `{"jsonrpc":"2.0","id":`+strconv.Itoa(i)+`,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"path":"/n/todo.md"}}}`)
				select {
				case <-ended:
					return
				case <-time.After(soakPause):
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, in)
	close(ended)
	workers.Wait()
	for _, s := range sessions {
		req, err := http.NewRequest(http.MethodDelete, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Mcp-Session-Id", s)
		if err := load.do(req, nil); err != nil {
			return err
		}
	}
	return nil
}

// soakClient sends requests to a gateway.
type soakClient struct {
	url  string
	http *http.Client
}

// begin opens a session and returns its ID.
func (c *soakClient) begin(i int) (string, error) {
	id, err := c.post("", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent-%d","version":"1"}}}`, i%50))
	if err != nil || id == "" {
		return "", fmt.Errorf("session %d: %q, %w", i, id, err)
	}
	_, err = c.post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id, err
}

// post sends a message and returns the session of the answer.
func (c *soakClient) post(session, message string) (string, error) {
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader([]byte(message)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	err = c.do(req, &session)
	return session, err
}

func (c *soakClient) do(req *http.Request, session *string) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && session != nil {
		*session = id
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
