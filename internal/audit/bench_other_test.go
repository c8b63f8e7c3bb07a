//go:build !unix

package audit

import "testing"

// processorTime returns 0: the CPU time is not available.
func processorTime(*testing.B) int64 { return 0 }
