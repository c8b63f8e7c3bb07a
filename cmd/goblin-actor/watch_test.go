package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Events that the system had no room for are lost, that of the configuration file among them perhaps: it is looked at.
// No other error of the watcher says anything about the file.
func TestFileEventsAreLost(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		tells int
	}{
		{"lost", fsnotify.ErrEventOverflow, 1},
		{"another error", errors.New("bad file descriptor"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watcher := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
				tells := 0
				go follow(watcher, []string{"goblin.yaml"}, false, func() { tells++ })
				watcher.Errors <- test.err
				time.Sleep(settle - 1)
				synctest.Wait()
				if tells != 0 {
					t.Errorf("told %d times before the files have settled, want 0", tells)
				}
				time.Sleep(time.Hour)
				if tells != test.tells {
					t.Errorf("told %d times, want %d", tells, test.tells)
				}
				close(watcher.Events)
			})
		})
	}
}
