package downstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every header that the server looks at, with a value that makes sense.
var lookedAt = map[string]string{
	"Authorization": "Bearer nobody", "Host": "localhost", "Origin": "http://localhost", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	"Mcp-Session-Id": "s", "Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "ping", "Mcp-Name": "n", "Last-Event-Id": "1", "Goblin-Project": "alpha",
	"X-Forwarded-For": "192.0.2.1", "X-Real-Ip": "192.0.2.1", "Forwarded": "for=192.0.2.1", "Via": "1.1 x", "Expect": "100-continue", "Content-Encoding": "identity",
	"Access-Control-Request-Method": "POST",
}

// Headers that only proxies send.
var ofProxies = map[string]bool{"X-Forwarded-For": true, "X-Real-Ip": true, "Forwarded": true, "Via": true}

// Each header empty, blank and doubled, without a credential that counts: the one answer is a refusal that comes before the body, and no
// interim response asks for the body. Requests through a proxy share their connection with others, so their body is read first.
func TestOddHeadersWithoutACredential(t *testing.T) {
	_, address := serve(t, handlerFunc{post: whoAnswers}, Options{Admission: newDoorkeeper()}, testLimits)
	for name, value := range lookedAt {
		for how, lines := range map[string]string{
			"empty": name + ":\r\n", "blank": name + ":  \t \r\n", "doubled": name + ": " + value + "\r\n" + name + ": " + value + "\r\n",
			"empty and not": name + ":\r\n" + name + ": " + value + "\r\n",
		} {
			for _, version := range []string{"1.1", "1.0"} {
				if name == "Authorization" && strings.Contains(lines, "nobody") {
					continue // a credential, if a wrong one: its body may be asked for
				}
				head := map[string]string{"Host": "localhost", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
				delete(head, name)
				text := "POST /mcp HTTP/" + version + "\r\n" + lines
				for k, v := range head {
					text += k + ": " + v + "\r\n"
				}
				text += fmt.Sprintf("Content-Length: %d\r\n\r\n", 5000)
				if ofProxies[name] {
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

// HTTP/1.0 has no interim responses, so a known client that expects one gets none.
func TestNoInterimResponseForHTTP10(t *testing.T) {
	_, address := serve(t, handlerFunc{post: whoAnswers}, Options{Admission: newDoorkeeper()}, testLimits)
	text := strings.Replace(postText(ping, "Authorization: Bearer a", "Expect: 100-continue"), "HTTP/1.1", "HTTP/1.0", 1)
	if r, body := dial(t, address).send(text).body(); r.StatusCode != 200 || body != result("a") {
		t.Errorf("%s %s", r.Status, body)
	}
}
