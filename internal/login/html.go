package login

import (
	"fmt"
	"html"
	"net/http"

	"goblin-actor/internal/visible"
)

// policy is the pages' Content-Security-Policy: no scripts, no images, no external content. The form is sent to this
// origin, and the response may redirect to any https URL, or to http URLs of 127.0.0.1 and localhost; form-action must
// allow both.
const policy = "default-src 'none'; style-src 'sha256-" + styleHash + "'; form-action 'self' https: http://127.0.0.1:* http://localhost:*; frame-ancestors 'none'; base-uri 'none'"

const (
	style = `body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em}button{font:inherit;padding:.5em 1.5em}`

	// styleHash is the SHA-256 of style. TestStyleHash checks it.
	styleHash = "0DBlBUo5oQzO0OJpuPR0Ixh+63LhuznOdhranO2e2tE="
)

// guard sets headers that keep a page out of frames and caches, and its URL out of the Referer headers of requests to
// other sites.
func guard(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the form's request would have the Origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func write(w http.ResponseWriter, status int, title, body string) {
	guard(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	title = escape(title)
	_, _ = fmt.Fprintf(w, "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>%s</title><style>%s</style>\n<h1>%s</h1>\n%s\n", title, style, title, body)
}

// escape escapes text for HTML. It also makes characters visible that hide or reorder text.
func escape(text string) string { return html.EscapeString(visible.Text(text)) }

func show(w http.ResponseWriter, status int, title, text string) {
	write(w, status, title, "<p>"+escape(text)+"</p>")
}

// showError shows an error page with the error's hint.
func showError(w http.ResponseWriter, status int, title string, err error) {
	body := "<p>" + escape(err.Error()) + "</p>"
	if hint := hintOf(err); hint != "" {
		body += "\n<p>" + escape(hint) + "</p>"
	}
	write(w, status, title, body)
}

func showForm(w http.ResponseWriter, key Key, token string) {
	whose := "All clients of this gateway will use this login."
	if key.Lane != "" {
		whose = "Only you will use this login."
	}
	write(w, http.StatusOK, "Log in to "+key.Entry, fmt.Sprintf(
		`<p>The gateway will send you to the login page of the server %s. %s</p>
<form method=post><input type=hidden name=token value="%s"><button>Log in</button></form>`,
		escape(key.Entry), whose, escape(token)))
}
