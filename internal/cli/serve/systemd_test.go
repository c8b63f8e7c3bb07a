package serve

import (
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/daemon"
)

// The service manager receives the state on the socket that it names. Without a service manager, nothing happens. If the
// socket is gone, the log contains a message about it.
func TestNotifySystemd(t *testing.T) {
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	t.Setenv("NOTIFY_SOCKET", "")
	notifySystemd(daemon.SdNotifyReady, log)
	if said.Len() > 0 {
		t.Errorf("without a service manager, the log says %q", said.String())
	}
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("Windows has no datagram sockets: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	notifySystemd(daemon.SdNotifyReady, log)
	buffer := make([]byte, 100)
	if n, err := manager.Read(buffer); err != nil || string(buffer[:n]) != "READY=1" {
		t.Errorf("the service manager got %q, %v, want READY=1", buffer[:n], err)
	}
	_ = manager.Close()
	notifySystemd(daemon.SdNotifyStopping, log)
	if !strings.Contains(said.String(), "systemd was not notified") {
		t.Errorf("the log says %q, want that systemd was not notified", said.String())
	}
}
