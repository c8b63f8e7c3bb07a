package form

import (
	"encoding/json"
	"errors"
	"net/url"

	"goblin-actor/internal/decode"
)

// MethodElicitation is the method of an elicitation request.
const MethodElicitation = "elicitation/create"

// Elicitation holds the params of an elicitation request. MCP 2025-11-25, client/elicitation.
type Elicitation struct {
	Mode    string          `json:"mode"` // form, "" or url
	Message string          `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// ParseElicitation parses the params of an elicitation request.
func ParseElicitation(params []byte) (Elicitation, error) {
	var e Elicitation
	err := decode.JSON(params, "the params of elicitation/create", &e)
	return e, err
}

// Page returns the page that the user is asked to open.
func (e *Elicitation) Page() (*url.URL, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("elicitation/create: url: expected an http or https URL")
	}
	return u, nil
}
