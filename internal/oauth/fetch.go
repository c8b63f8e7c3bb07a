package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/ssrf"
)

// errNotFound is returned for a document that does not exist.
var errNotFound = errors.New("document not found")

// fetchJSON fetches a JSON object into v. It returns errNotFound if the URL has no JSON document.
func (a *Agent) fetchJSON(ctx context.Context, what, url string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return refuse(ErrMalformed, "", "%s: %q is not a URL", what, shorten(url))
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("MCP-Protocol-Version", discoveryVersion)
	answer, err := a.Client.HTTP.Do(r)
	if err != nil {
		return networkError("fetch "+what, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500:
		return &OAuthError{Op: "fetch " + what, Status: answer.StatusCode}
	case answer.StatusCode != http.StatusOK:
		return errNotFound
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return errNotFound // many servers answer unknown paths with a web page
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return networkError("fetch "+what, err)
	}
	if err := decode.JSON(body, what+" at "+answer.Request.URL.Redacted(), v); err != nil {
		return refuse(ErrMalformed, "", "%v", err)
	}
	return nil
}

// networkError converts the error of a failed request. An error of the egress guard does not become a NetworkError,
// because it is not temporary. An AddressError also loses the context that net/http adds.
func networkError(op string, err error) error {
	var address *ssrf.AddressError
	switch {
	case errors.As(err, &address):
		return fmt.Errorf("%s: %w", op, address)
	case errors.Is(err, ssrf.ErrForbidden), errors.Is(err, ssrf.ErrTooLarge):
		return fmt.Errorf("%s: %w", op, err)
	}
	return &NetworkError{op, err}
}
