package configfile

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// HoldSignals has signals that would end the process wait while files are written, so that none is left half-way: neither the configuration
// without the client's file, nor a temporary one with secrets beside it. What has come takes effect when release is called, or after two
// seconds, in case what is told of the files finds no taker.
func HoldSignals() (release func()) {
	signals, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer close(ended)
		var late os.Signal
		select {
		case late = <-signals:
			select {
			case <-done:
			case <-time.After(2 * time.Second):
			}
			signal.Stop(signals)
		case <-done:
			signal.Stop(signals)
			select {
			case late = <-signals:
			default:
				return
			}
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(late) // where that cannot be, the signal has come too late
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}
