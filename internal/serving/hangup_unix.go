//go:build unix

package serving

import (
	"os"
	"os/signal"
	"syscall"
)

// onHangup calls f for every SIGHUP until the returned function is called.
func onHangup(f func()) func() {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-signals:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
