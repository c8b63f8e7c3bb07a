package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// outliveReaders has writes to stdout and stderr fail when nobody reads them any more; without it they end the process by SIGPIPE. A
// client that is killed in the middle of a call must not take the gateway along: calls are to be cancelled and sessions ended. The
// signal is caught rather than ignored, for servers started by us would inherit that.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
