package serve

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"

	"goblin-actor/internal/status"
)

// notifySystemd tells the service manager about a change of state (Type=notify). If the process is not such a service,
// notifySystemd does nothing.
func notifySystemd(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not notified", "state", state, "err", err)
	}
}

// serviceOf returns the service that runs this process, or nil. The flags are those that goblin-actor service install
// writes: a service without a log file is a user unit of systemd.
func serviceOf(o serveOptions) *status.Service {
	switch {
	case o.service == "":
		return nil
	case o.logFile == "":
		return &status.Service{Name: o.service, Log: "journalctl --user -u " + o.service}
	}
	return &status.Service{Name: o.service, Log: o.logFile}
}
