package interop

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// reports collects the progress of a call. Clients may deliver it after the call's answer. It is safe for concurrent use.
type reports struct {
	mu   sync.Mutex
	all  []float64
	more chan struct{} // contains a value when there are new reports
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

// wait returns the reports once there are at least n.
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
			return all, fmt.Errorf("progress: got %v, want %d reports", all, n)
		}
	}
}

// tokens maps progress tokens to calls. A token stays valid after its call was answered, because the Go SDKs process answers
// and notifications in separate goroutines. It is safe for concurrent use.
type tokens struct {
	mu    sync.Mutex
	calls map[string]func(float64)
}

// next returns a new progress token, whose reports go to progress.
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

// tell passes the progress v to the call that has the token. It ignores unknown tokens.
func (t *tokens) tell(token any, v float64) {
	name, _ := token.(string)
	t.mu.Lock()
	progress := t.calls[name]
	t.mu.Unlock()
	if progress != nil {
		progress(v)
	}
}
