package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"goblin-actor/internal/config"
)

// settle is how long a file must stay unchanged before it is read: editors write in several steps.
const settle = 200 * time.Millisecond

// looks is how often one looks whether a file has settled before it is taken as it is.
const looks = 10

// watchedFiles are the files of a gateway: what it reads its configuration from, and for whoever listens the keys and the certificate.
type watchedFiles struct {
	config, credentials <-chan struct{}
	files               []string // of both
	stop                func()
}

// watchAll watches the configuration, and for whoever listens keys and certificate.
func watchAll(cfg *config.Config, listens bool, log *slog.Logger) *watchedFiles {
	credentials := credentialFiles(cfg, listens)
	w := &watchedFiles{files: slices.Concat(cfg.Files, credentials)}
	var stops [2]func()
	w.config, stops[0] = watchConfig(cfg.Files, false, log)
	w.credentials, stops[1] = watchConfig(credentials, true, log)
	w.stop = func() {
		stops[0]()
		stops[1]()
	}
	return w
}

// renewed watches the files of cfg, should they be others than those that are watched.
func (w *watchedFiles) renewed(cfg *config.Config, listens bool, log *slog.Logger) *watchedFiles {
	if slices.Equal(w.files, slices.Concat(cfg.Files, credentialFiles(cfg, listens))) {
		return w
	}
	w.stop()
	return watchAll(cfg, listens, log)
}

// watchConfig tells on the channel when one of the files, the configuration and what it reads, was changed or replaced, or
// SIGHUP came; with modes also when who may read one did. Without a file nothing is ever told.
func watchConfig(files []string, modes bool, log *slog.Logger) (<-chan struct{}, func()) {
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
	go follow(watcher, paths, modes, tell)
	return changed, func() {
		stopSignal()
		_ = watcher.Close()
	}
}

// unsettled is how long it takes at least until all of the files have settled; 0 = they have. What was heard of one, a SIGHUP perhaps, may be of
// a change before the one that is just being made.
// look counts the looks at them from zero: an empty one is looked at twice, as in the middle of the system's call that empties it its time is still the old one.
func unsettled(files []string, look int) (left time.Duration) {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if age := time.Since(info.ModTime()); age >= 0 { // else its clock is another one
			left = max(left, settle-age)
		}
		if info.Size() == 0 && look == 0 {
			left = max(left, settle)
		}
	}
	return left
}

// awaitSettled waits until all of the files have settled, or for a while: a file that is just being written is empty for a moment, which would
// be read as no keys.
func awaitSettled(ctx context.Context, files []string) {
	for look := range looks {
		if left := unsettled(files, look); left <= 0 || !waited(ctx, left) {
			return
		}
	}
}

// waited reports whether d has passed before ctx ended.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
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
func follow(watcher *fsnotify.Watcher, paths []string, modes bool, tell func()) {
	timer := time.NewTimer(settle)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return
			}
			if slices.Contains(paths, filepath.Clean(event.Name)) && (modes || !event.Op.Has(fsnotify.Chmod)) {
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
