package downstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Headers that the server uses, with valid values.
var usedHeaders = map[string]string{
	"Authorization": "Bearer unknown", "Host": "localhost", "Origin": "http://localhost", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	"Mcp-Session-Id": "s", "Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "ping", "Mcp-Name": "n", "Last-Event-Id": "1", "Goblin-Project": "alpha",
	"X-Forwarded-For": "192.0.2.1", "X-Real-Ip": "192.0.2.1", "Forwarded": "for=192.0.2.1", "Via": "1.1 x", "Expect": "100-continue", "Content-Encoding": "identity",
	"Access-Control-Request-Method": "POST",
}

// Headers that only proxies send.
var proxyHeaders = map[string]bool{"X-Forwarded-For": true, "X-Real-Ip": true, "Forwarded": true, "Via": true}

// A request without a valid credential and with a header that is empty, only spaces or repeated is refused before its
// body arrives, and no interim response requests the body. Proxies share connections, so the bodies of their requests
// are read first.
func TestOddHeadersWithoutACredential(t *testing.T) {
	_, address := serve(t, handlerFunc{post: answerPrincipal}, Options{Admission: newDoorkeeper()}, testLimits)
	for name, value := range usedHeaders {
		for how, lines := range map[string]string{
			"empty": name + ":\r\n", "blank": name + ":  \t \r\n", "doubled": name + ": " + value + "\r\n" + name + ": " + value + "\r\n",
			"empty and not": name + ":\r\n" + name + ": " + value + "\r\n",
		} {
			for _, version := range []string{"1.1", "1.0"} {
				if name == "Authorization" && strings.Contains(lines, "unknown") {
					continue // an invalid credential, whose body may be requested
				}
				head := map[string]string{"Host": "localhost", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
				delete(head, name)
				text := "POST /mcp HTTP/" + version + "\r\n" + lines
				for k, v := range head {
					text += k + ": " + v + "\r\n"
				}
				text += fmt.Sprintf("Content-Length: %d\r\n\r\n", 5000)
				if proxyHeaders[name] {
					text += strings.Repeat(" ", 5000)
				}
				r := dial(t, address).send(text).response()
				if r.StatusCode < 400 || r.StatusCode >= 500 || r.StatusCode == http.StatusRequestTimeout {
					t.Errorf("%s %s, HTTP/%s: %s", name, how, version, r.Status)
				}
			}
		}
	}
}

// HTTP/1.0 has no interim responses, so an authenticated client that expects one gets none.
func TestNoInterimResponseForHTTP10(t *testing.T) {
	_, address := serve(t, handlerFunc{post: answerPrincipal}, Options{Admission: newDoorkeeper()}, testLimits)
	text := strings.Replace(postText(ping, "Authorization: Bearer a", "Expect: 100-continue"), "HTTP/1.1", "HTTP/1.0", 1)
	if r, body := dial(t, address).send(text).body(); r.StatusCode != 200 || body != result("a") {
		t.Errorf("%s %s", r.Status, body)
	}
}
