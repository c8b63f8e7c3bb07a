package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// outliveReaders makes writes to a closed stdout or stderr return an error instead of ending the process with SIGPIPE. If the client is
// killed during a call, the gateway must still cancel calls and end sessions. The signal is caught and not ignored, because child
// processes would inherit an ignored signal.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
