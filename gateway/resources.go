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

// unsubscribeTime is how long the end of a subscription may take; nobody waits for it.
const unsubscribeTime = 10 * time.Second

// Contents is one part of a resource.
type Contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob"` // decoded; nil = it is text
}

// ReadResource reads a resource by the URI it is listed by, or one that matches a template.
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

// Subscribe asks to be told of changes of a resource. The channel has a value whenever the resource may have changed since the last one was
// taken: of several changes that nobody took one is left. It is closed when ctx ends or the gateway stops.
func (g *Gateway) Subscribe(ctx context.Context, uri string) (<-chan struct{}, error) {
	updates := make(chan struct{}, 1)
	if !g.subscriptions.add(uri, updates) { // before it is asked for: an update may come with the answer
		return nil, ErrStopped
	}
	leave := func() {
		if !g.subscriptions.remove(uri, updates) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeTime)
		defer cancel()
		if err := g.client.Unsubscribe(ctx, uri); err != nil && !errors.Is(errorOf(err), ErrStopped) {
			g.log.Warn("the subscription was not ended", "uri", uri, "err", err)
		}
		if g.subscriptions.has(uri) { // somebody came meanwhile, whose subscription that may have ended
			err := g.client.Subscribe(ctx, uri)
			g.log.Debug("subscribed again", "uri", uri, "err", err)
			g.subscriptions.tell(uri)
		}
	}
	if err := g.client.Subscribe(ctx, uri); err != nil {
		leave()
		return nil, errorOf(err)
	}
	context.AfterFunc(ctx, leave)
	return updates, nil
}

// notified hears what belongs to no request. It never blocks.
func (g *Gateway) notified(method string, params json.RawMessage) {
	if protocol.ParseMethod([]byte(method)) != protocol.NotificationResourcesUpdated {
		return
	}
	var updated struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(params, &updated) == nil {
		g.subscriptions.tell(updated.URI)
	}
}

// subscriptions are the channels that want to hear of each resource, by the URI they were asked for with.
type subscriptions struct {
	mu    sync.Mutex
	of    map[string][]chan struct{}
	ended bool
}

// add reports whether there still is somebody to hear of.
func (s *subscriptions) add(uri string, updates chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.of[uri] = append(s.of[uri], updates)
	return true
}

// remove closes the channel and reports whether it was the last of its resource.
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

func (s *subscriptions) tell(uri string) {
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

// isPart reports whether uri is the resource of, or one below it: servers may name a part of what was subscribed to.
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
