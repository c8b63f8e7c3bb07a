package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// maxStatusBytes limits the size of a response that Fetch, or a Source that Dial returned, reads. On a stream of events,
// it limits each line.
const maxStatusBytes = 64 << 20

// Fetch returns the Snapshot of the gateway with the admin socket at path. It blocks until the gateway answers or ctx ends.
func Fetch(ctx context.Context, path string) (*status.Snapshot, error) {
	return FetchRecent(ctx, path, 0)
}

// FetchRecent is like Fetch, but the Snapshot includes the Series of the last seconds, as many as given. 0 = without Series.
func FetchRecent(ctx context.Context, path string, seconds int) (*status.Snapshot, error) {
	if err := checkAddress(path); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/statusz?seconds="+strconv.Itoa(seconds), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client(path).Do(req)
	if err != nil {
		return nil, fmt.Errorf("admin socket %s: %w", path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return nil, fmt.Errorf("admin socket %s: HTTP %d: %q", path, resp.StatusCode, text)
	}
	s := new(status.Snapshot)
	if err := decode.Reader(io.LimitReader(resp.Body, maxStatusBytes), "the status", s); err != nil {
		return nil, fmt.Errorf("admin socket %s: %w", path, err)
	}
	return s, nil
}
