package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// remote is a status.Source that queries a gateway through its admin socket.
type remote struct {
	path     string
	http     *http.Client
	readOnly bool // every request says that this client is read-only
}

// Dial returns a Source for the gateway with the admin socket at path. It does not connect. Each request opens its own
// connection, so the Source works again after a restart of the gateway.
func Dial(path string) (status.Source, error) {
	if err := checkAddress(path); err != nil {
		return nil, err
	}
	return &remote{path: path, http: client(path)}, nil
}

// Status implements status.Source.
func (r *remote) Status(ctx context.Context) (*status.Snapshot, error) {
	s := new(status.Snapshot)
	return s, r.json(ctx, "/statusz", s)
}

// Items implements status.Source.
func (r *remote) Items(ctx context.Context, known uint64) (*status.Items, error) {
	items := new(status.Items)
	err := r.json(ctx, "/catalogz?known="+strconv.FormatUint(known, 10), items)
	if errors.Is(err, errNotModified) {
		return nil, nil
	}
	return items, err
}

// Events implements status.Source.
func (r *remote) Events(ctx context.Context, after uint64) ([]status.Event, error) {
	page, err := r.do(ctx, http.MethodGet, "/eventz?once&after="+strconv.FormatUint(after, 10), nil)
	if err != nil {
		return nil, err
	}
	var events []status.Event
	for line := range strings.Lines(string(page)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e status.Event
		if err := decode.JSON([]byte(data), "an event", &e); err != nil {
			return nil, r.fault("read", err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Metrics implements status.Source.
func (r *remote) Metrics(ctx context.Context) (string, error) {
	page, err := r.do(ctx, http.MethodGet, "/metrics", nil)
	return string(page), err
}

// Act implements status.Source.
func (r *remote) Act(ctx context.Context, a status.Action) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = r.do(ctx, http.MethodPost, "/actions/"+url.PathEscape(string(a.Verb)), body)
	if no, ok := errors.AsType[*Refused](err); ok {
		return no // without the prefix of do: the gateway's text needs none
	}
	return err
}

// Refused is an error response of the gateway: it is running but refused the request.
type Refused struct {
	Text string
	Code int // HTTP status; 0 = the error ended a stream
}

// Error returns the gateway's text.
func (e *Refused) Error() string { return e.Text }

// maxRefusedBytes limits how much of an error response is read. The response to a reload lists all errors of the
// configuration.
const maxRefusedBytes = 4096

var errNotModified = errors.New("not modified")

func (r *remote) json(ctx context.Context, path string, into any) error {
	page, err := r.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if err := decode.JSON(page, "the answer to "+path, into); err != nil {
		return r.fault("read", err)
	}
	return nil
}

// do returns the body of a successful response, truncated to maxStatusBytes. It returns errNotModified for status 304,
// and an error that wraps Refused for every other status from 300.
func (r *remote) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := r.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, r.fault("query", cmp.Or(errors.Unwrap(err), err)) // without the URL, which is a placeholder
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return nil, errNotModified
	case resp.StatusCode >= 300:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusedBytes))
		return nil, r.fault("query", &Refused{cmp.Or(strings.TrimSpace(string(text)), resp.Status), resp.StatusCode})
	}
	page, err := io.ReadAll(io.LimitReader(resp.Body, maxStatusBytes))
	if err != nil {
		return nil, r.fault("read", err)
	}
	return page, nil
}

func (r *remote) fault(verb string, err error) error {
	return fmt.Errorf("%s admin socket %s: %w", verb, r.path, err)
}
