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

// looks is the maximum number of times that awaitSettled and load each check whether the files have settled.
const looks = 10

// watchedFiles watches the files of the configuration and, for a gateway that listens, the keys and the certificate.
type watchedFiles struct {
	config, credentials <-chan struct{}
	files               []string // files of the configuration, the keys and the certificate
	names               []string // their paths, and the symbolic links in those paths
	again               bool     // the files may have changed while they were not watched and must be read again
	stop                func()
}

// watchAll watches the configuration and, if the gateway listens, the keys and the certificate.
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

// renewed returns w, or a new watch if w does not watch the files of cfg, or if a symbolic link in the path of one of
// these files was replaced. Replacing a link is a way to exchange whole directories at once. If only links were replaced,
// again is set, since the files may have changed meanwhile.
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
	w.stop() // after the new watch has started, since an unhandled SIGHUP ends the process
	if slices.Equal(w.files, files) {
		next.again = true
	}
	return next
}

// watchConfig sends on the channel when one of the files was changed or replaced, and on SIGHUP. If modes is true, it
// also sends when the permissions of a file changed. Without files, it never sends.
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
			if failed := watcher.Add(filepath.Dir(path)); i == 0 { // only the first file must exist; others are reported elsewhere
				err = failed
			}
			paths = append(paths, path)
		}
	}
	if err != nil {
		log.Warn("some files are not watched for changes; send SIGHUP after a change", "err", err)
		return changed, stopSignal
	}
	go follow(watcher, paths, modes, tell)
	return changed, func() {
		stopSignal()
		_ = watcher.Close()
	}
}

// unsettled returns the minimum time until all files have settled, or 0 if they have. A file may be changing although
// the event that caused the check, such as a SIGHUP, belongs to an earlier change. look is the number of the check,
// counted from 0. An empty file is checked twice, since its modification time is still the old one during the system call
// that truncates it.
func unsettled(files []string, look int) (left time.Duration) {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if age := time.Since(info.ModTime()); age >= 0 { // otherwise the file's time comes from a different clock
			left = max(left, settle-age)
		}
		if info.Size() == 0 && look == 0 {
			left = max(left, settle)
		}
	}
	return left
}

// awaitSettled waits until all files have settled, but checks at most looks times. A key file that is being written may be
// empty for a moment and would be read as one without keys.
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

// maxLinks is the maximum number of symbolic links that are followed, about the same as in operating systems.
const maxLinks = 40

// namesOf returns the paths of all symbolic links in a file's path, and of the file itself. Links in the directories of
// these paths are resolved, since a directory must not be watched under two names. Path elements that do not exist are kept.
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

// firstLink returns the first prefix of a path that is a symbolic link, and the rest. link is "" if there is none.
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

// follow calls tell once the events of the paths have settled. It ends when the watcher is closed.
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
			if errors.Is(err, fsnotify.ErrEventOverflow) { // the lost events may include one of the file
				timer.Reset(settle)
			}
		case <-timer.C:
			tell()
		}
	}
}
