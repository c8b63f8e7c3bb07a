package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must stay unchanged before it is read: editors write in several steps.
const settle = 200 * time.Millisecond

// watchConfig tells on the channel when one of the files, the configuration and what it reads, was changed or replaced, or
// SIGHUP came. Without a file nothing is ever told.
func watchConfig(files []string, log *slog.Logger) (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	if len(files) == 0 {
		return changed, func() {}
	}
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	stopSignal := onHangup(tell)
	// The directory is watched, not the file: editors replace files by renaming.
	watcher, err := fsnotify.NewWatcher()
	var paths []string
	for i, file := range files {
		for _, path := range namesOf(file) {
			if err != nil {
				break
			}
			if failed := watcher.Add(filepath.Dir(path)); i == 0 { // of other files that are not there a warning tells
				err = failed
			}
			paths = append(paths, path)
		}
	}
	if err != nil {
		log.Warn("the configuration file is not watched; send SIGHUP after a change", "err", err)
		return changed, stopSignal
	}
	go follow(watcher, paths, tell)
	return changed, func() {
		stopSignal()
		_ = watcher.Close()
	}
}

// namesOf are the absolute paths of a file and of what it links to: one directory must not be watched under two names.
func namesOf(file string) []string {
	path, err := filepath.Abs(file)
	if err != nil {
		path = filepath.Clean(file)
	}
	paths := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		paths = append(paths, target)
	}
	return paths
}

// follow tells once the events of the file, or of what it links to, have settled. It ends when the watcher is closed.
func follow(watcher *fsnotify.Watcher, paths []string, tell func()) {
	timer := time.NewTimer(settle)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return
			}
			if slices.Contains(paths, filepath.Clean(event.Name)) && !event.Op.Has(fsnotify.Chmod) {
				timer.Reset(settle)
			}
		case err := <-watcher.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events are lost, and that of the file may be one of them
				timer.Reset(settle)
			}
		case <-timer.C:
			tell()
		}
	}
}
