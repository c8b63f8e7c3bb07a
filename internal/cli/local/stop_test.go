package local

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// stuck is a gateway that cannot be stopped.
type stuck struct{}

func (stuck) Stop(context.Context, time.Duration) error { return errors.New("1 still running: pool/a") }

// A command says if its gateway did not stop in time.
func TestStopWarns(t *testing.T) {
	var errOut strings.Builder
	if Stop(stuck{}, &errOut); errOut.String() != "warning: not everything stopped in time: 1 still running: pool/a\n" {
		t.Errorf("printed %q", errOut.String())
	}
}
