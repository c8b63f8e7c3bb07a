package interop

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// reports are the progress of one call. Clients may hand it over behind the call's answer. Safe for concurrent use.
type reports struct {
	mu   sync.Mutex
	all  []float64
	more chan struct{} // holds one when there is something new
}

func newReports() *reports { return &reports{more: make(chan struct{}, 1)} }

func (r *reports) add(v float64) {
	r.mu.Lock()
	r.all = append(r.all, v)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// wait returns what came as soon as it is n or more.
func (r *reports) wait(ctx context.Context, n int) ([]float64, error) {
	for {
		r.mu.Lock()
		all := slices.Clone(r.all)
		r.mu.Unlock()
		if len(all) >= n {
			return all, nil
		}
		select {
		case <-r.more:
		case <-ctx.Done():
			return all, fmt.Errorf("progress: %v, want %d of it", all, n)
		}
	}
}

// tokens know which call a progress token belongs to, also when the call has been answered: the SDKs in Go take answers
// and notifications in by goroutines of their own. Safe for concurrent use.
type tokens struct {
	mu    sync.Mutex
	calls map[string]func(float64)
}

// next returns the token of another call.
func (t *tokens) next(progress func(float64)) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]func(float64){}
	}
	token := fmt.Sprintf("token-%d", len(t.calls)+1)
	t.calls[token] = progress
	return token
}

// tell passes on what was reported under a token.
func (t *tokens) tell(token any, v float64) {
	name, _ := token.(string)
	t.mu.Lock()
	progress := t.calls[name]
	t.mu.Unlock()
	if progress != nil {
		progress(v)
	}
}
