package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxHealthBytes limits the body of a health page that a client reads.
const maxHealthBytes = 64 << 10

// NotReadyError is the error of a gateway that answers a health check but is not ready.
type NotReadyError struct{ reason string }

func (e *NotReadyError) Error() string { return e.reason }

// CheckReady asks the gateway with the admin socket at path for /readyz. It returns nil for status 200 and a
// *NotReadyError for any other status. Another error means that no complete response was received.
func CheckReady(ctx context.Context, path string) error { return checkHealth(ctx, path, "readyz") }

// CheckAlive asks for /healthz instead, which the gateway answers even while its actors hang.
func CheckAlive(ctx context.Context, path string) error { return checkHealth(ctx, path, "healthz") }

func checkHealth(ctx context.Context, path, page string) error {
	client, err := Client(path)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/"+page, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("admin socket %s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHealthBytes))
	if err != nil {
		return fmt.Errorf("admin socket %s: %w", path, err)
	}
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &NotReadyError{notReady(resp.StatusCode, body)}
}

// notReady explains a response other than 200.
func notReady(code int, body []byte) string {
	var r readiness
	switch {
	case json.Unmarshal(body, &r) != nil:
		return fmt.Sprintf("the gateway answers with HTTP %d: %.200q", code, body)
	case r.Draining:
		return "the gateway is shutting down"
	case len(r.Waiting) > 0:
		return "the gateway is not ready: it is waiting for " + strings.Join(r.Waiting, ", ")
	}
	return "the gateway is not ready"
}
