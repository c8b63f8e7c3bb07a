package bus

import (
	"log/slog"
	"strings"
	"testing"
)

// The message about a node with the same name says what to do. It may be preceded by the connection.
func TestDuplicateNameIsExplained(t *testing.T) {
	var text strings.Builder
	l := &serverLog{log: slog.New(slog.NewTextHandler(&text, nil))}
	l.Errorf("127.0.0.2:1 - rid:5 - "+duplicateName, "c")
	if got := text.String(); !strings.Contains(got, "two nodes of the cluster have the same name") || !strings.Contains(got, `\"c\"`) || !strings.Contains(got, "level=WARN") {
		t.Error(got)
	}
}
