package configfile

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// HoldSignals delays signals that would end the process while files are written, so that no update is left half done
// and no temporary file with secrets remains. A held signal takes effect when release is called. It takes effect after
// two seconds even without release, because printing a message about the files may block.
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
			_ = self.Signal(late) // on systems without signals this fails
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}
