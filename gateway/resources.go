package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
)

// unsubscribeTime is the timeout of the requests that end a subscription.
const unsubscribeTime = 10 * time.Second

// Contents is one part of a resource's content.
type Contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob"` // decoded; nil if the part is text
}

// ReadResource reads the resource with the given URI: one that is listed, or one that matches a listed template.
func (g *Gateway) ReadResource(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := g.client.Read(ctx, uri)
	if err != nil {
		return nil, errorOf(err)
	}
	var result struct {
		Contents []Contents `json:"contents"`
	}
	if err := decode.JSON(raw, fmt.Sprintf("the result of reading %q", uri), &result); err != nil {
		return nil, err
	}
	return result.Contents, nil
}

// Subscribe subscribes to a resource. Each change puts a value into the channel unless one is already there, so
// several changes between two receives leave one value. The channel is closed when ctx ends or the gateway stops.
func (g *Gateway) Subscribe(ctx context.Context, uri string) (<-chan struct{}, error) {
	updates := make(chan struct{}, 1)
	if !g.subscriptions.add(uri, updates) { // before the request: an update may arrive together with the response
		return nil, ErrStopped
	}
	unsubscribe := func() {
		if !g.subscriptions.remove(uri, updates) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeTime)
		defer cancel()
		if err := g.client.Unsubscribe(ctx, uri); err != nil && !errors.Is(errorOf(err), ErrStopped) {
			g.log.Warn("unsubscribe failed", "uri", uri, "err", err)
		}
		if g.subscriptions.has(uri) { // Subscribe was called again meanwhile; Unsubscribe may have ended that subscription too
			err := g.client.Subscribe(ctx, uri)
			g.log.Debug("subscribe again", "uri", uri, "err", err)
			g.subscriptions.notify(uri)
		}
	}
	if err := g.client.Subscribe(ctx, uri); err != nil {
		unsubscribe()
		return nil, errorOf(err)
	}
	context.AfterFunc(ctx, unsubscribe)
	return updates, nil
}

// notified handles notifications that belong to no request: resource updates go to the subscribers, others are ignored.
// It never blocks.
func (g *Gateway) notified(method string, params json.RawMessage) {
	if protocol.ParseMethod([]byte(method)) != protocol.NotificationResourcesUpdated {
		return
	}
	var updated struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(params, &updated) == nil {
		g.subscriptions.notify(updated.URI)
	}
}

// subscriptions holds the channels of each resource's subscribers, by the URI that they passed to Subscribe.
type subscriptions struct {
	mu    sync.Mutex
	of    map[string][]chan struct{}
	ended bool
}

// add adds a channel. It returns false if end has been called.
func (s *subscriptions) add(uri string, updates chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.of[uri] = append(s.of[uri], updates)
	return true
}

// remove closes and removes the channel, and reports whether it was the last one for the URI. If end has closed the
// channel already, remove returns false.
func (s *subscriptions) remove(uri string, updates chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.of[uri], updates)
	if i < 0 {
		return false
	}
	close(updates)
	s.of[uri] = slices.Delete(s.of[uri], i, i+1)
	if len(s.of[uri]) > 0 {
		return false
	}
	delete(s.of, uri)
	return true
}

func (s *subscriptions) has(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of[uri]) > 0
}

func (s *subscriptions) notify(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, list := range s.of {
		if !isPart(uri, of) {
			continue
		}
		for _, updates := range list {
			select {
			case updates <- struct{}{}:
			default:
			}
		}
	}
}

// isPart reports whether the first URI equals the second one or lies below it. Servers may report a change of a
// sub-resource.
func isPart(uri, of string) bool {
	rest, ok := strings.CutPrefix(uri, of)
	return ok && (rest == "" || strings.HasSuffix(of, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}

// end closes all channels.
func (s *subscriptions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, list := range s.of {
		for _, updates := range list {
			close(updates)
		}
	}
	clear(s.of)
}
