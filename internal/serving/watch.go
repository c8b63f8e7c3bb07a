package serving

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	names               []string // where they were found, and the links on the way
	again               bool     // they may have changed while nobody watched them
	stop                func()
}

// watchAll watches the configuration, and for whoever listens keys and certificate.
func watchAll(cfg *config.Config, listens bool, log *slog.Logger) *watchedFiles {
	credentials := credentialFiles(cfg, listens)
	w := &watchedFiles{files: slices.Concat(cfg.Files, credentials)}
	for _, file := range w.files {
		w.names = append(w.names, namesOf(file)...)
	}
	var stops [2]func()
	w.config, stops[0] = watchConfig(cfg.Files, false, log)
	w.credentials, stops[1] = watchConfig(credentials, true, log)
	w.stop = func() {
		stops[0]()
		stops[1]()
	}
	return w
}

// renewed watches the files of cfg, should they be others than those that are watched, or lie elsewhere since a link on the way was replaced: so
// whole directories of files are exchanged at once. What has changed meanwhile is read once more.
func (w *watchedFiles) renewed(cfg *config.Config, listens bool, log *slog.Logger) *watchedFiles {
	files := slices.Concat(cfg.Files, credentialFiles(cfg, listens))
	var names []string
	for _, file := range files {
		names = append(names, namesOf(file)...)
	}
	if slices.Equal(w.files, files) && slices.Equal(w.names, names) {
		return w
	}
	next := watchAll(cfg, listens, log)
	w.stop() // not before: a SIGHUP that nobody waits for ends the process
	if slices.Equal(w.files, files) {
		next.again = true
	}
	return next
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

// maxLinks is how many links on the way to a file are followed; systems follow about as many.
const maxLinks = 40

// namesOf are the paths of all links on the way to a file, and of the file, each as it is with all links before it followed: one directory must
// not be watched under two names. Of what is not there the rest of the path stays as it is.
func namesOf(file string) (names []string) {
	path, err := filepath.Abs(file)
	if err != nil {
		path = filepath.Clean(file)
	}
	for range maxLinks {
		link, rest := firstLink(path)
		if link == "" {
			break
		}
		target, err := os.Readlink(link)
		if err != nil {
			break
		}
		names = append(names, link)
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		path = filepath.Join(target, rest)
	}
	return append(names, path)
}

// firstLink is the first part of a path that is a link, and what follows it; "" = there is none.
func firstLink(path string) (link, rest string) {
	at := len(filepath.VolumeName(path))
	for at < len(path) {
		next := strings.IndexByte(path[at+1:], filepath.Separator)
		if next < 0 {
			next = len(path) - at - 1
		}
		at += 1 + next
		info, err := os.Lstat(path[:at])
		if err != nil {
			break
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return path[:at], strings.TrimPrefix(path[at:], string(filepath.Separator))
		}
	}
	return "", ""
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
