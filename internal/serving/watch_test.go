package serving

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"goblin-actor/internal/config"
	"goblin-actor/internal/gatetest"
)

// After an overflow, events are lost, possibly one of the configuration file, so the file is read. Other errors of the
// watcher do not concern the file.
func TestLostFileEvents(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		tells int64
	}{
		{"lost", fsnotify.ErrEventOverflow, 1},
		{"another error", errors.New("bad file descriptor"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watcher := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
				var tells atomic.Int64
				go follow(watcher, []string{"goblin.yaml"}, false, func() { tells.Add(1) })
				watcher.Errors <- test.err
				time.Sleep(settle - 1)
				synctest.Wait()
				if n := tells.Load(); n != 0 {
					t.Errorf("%d notifications before the files have settled, want 0", n)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := tells.Load(); n != test.tells {
					t.Errorf("%d notifications, want %d", n, test.tells)
				}
				close(watcher.Events)
			})
		})
	}
}

// A file that is being written is not read before it has settled, because it may be empty meanwhile.
func TestFileBeingWrittenIsNotRead(t *testing.T) {
	const step = settle / 2
	for name, test := range map[string]struct {
		text   string
		writes []time.Duration // times of the writes, since the start
		want   time.Duration   // expected time until the files are read
	}{
		"long ago":         {"a", []time.Duration{-time.Hour}, 0},
		"another's clock":  {"a", []time.Duration{time.Hour}, 0},
		"just now":         {"a", []time.Duration{0}, settle},
		"a moment ago":     {"a", []time.Duration{-step}, step},
		"in several steps": {"a", []time.Duration{0, step, 2 * step}, 2*step + settle},
		"empty":            {"", []time.Duration{-time.Hour}, settle},
		"empty for now":    {"", []time.Duration{-time.Hour, step}, step + settle},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "goblin.yaml")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				written := func(at time.Duration) {
					if err := os.Chtimes(path, time.Time{}, began.Add(at)); err != nil {
						t.Error(err)
					}
				}
				written(test.writes[0])
				for _, at := range test.writes[1:] {
					time.AfterFunc(at, func() { written(at) })
				}
				awaitSettled(t.Context(), []string{path, path + ".gone"})
				if took := time.Since(began); took != test.want {
					t.Errorf("waited %v, want %v", took, test.want)
				}
			})
		})
	}
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began, done := time.Now(), make(chan struct{})
		go func() {
			for now := began; ; now = time.Now() {
				_ = os.Chtimes(path, time.Time{}, now)
				select {
				case <-time.After(settle / 4):
				case <-done:
					return
				}
			}
		}()
		awaitSettled(t.Context(), []string{path})
		close(done)
		if took := time.Since(began); took > 10*settle {
			t.Errorf("waited %v for a file that never settles", took)
		}
	})
}

// The keys are read again each time a symbolic link in their path is replaced.
func TestAttack19RevokedBehindALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: symbolic links require privileges")
	}
	dir := t.TempDir()
	data := func(n int, text string) {
		t.Helper()
		of := filepath.Join(dir, fmt.Sprint("data-", n))
		next := filepath.Join(dir, "next")
		err := errors.Join(os.Mkdir(of, 0o700), os.WriteFile(filepath.Join(of, "keys.yaml"), []byte(text), 0o600), os.Symlink(filepath.Base(of), next))
		if err == nil {
			err = os.Rename(next, filepath.Join(dir, "data"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data(0, "0")
	file := filepath.Join(dir, "keys.yaml")
	if err := os.Symlink(filepath.Join("data", "keys.yaml"), file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "goblin.yaml")
	if err := os.WriteFile(path, []byte("auth: {keys: keys.yaml}\nmcpServers: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, report := config.Load(path)
	if cfg == nil {
		t.Fatal(report.Err())
	}
	log := slog.New(slog.DiscardHandler)
	files := watchAll(cfg, true, log)
	for n := 1; n <= 3; n++ {
		data(n, fmt.Sprint(n))
		select {
		case <-files.credentials:
		case <-time.After(gatetest.Patience):
			t.Fatalf("exchange %d was not noticed", n)
		}
		if files = files.renewed(cfg, true, log); !files.again {
			t.Errorf("after exchange %d: again is not set", n)
		}
		if files.again = false; files.renewed(cfg, true, log) != files {
			t.Errorf("after exchange %d: the files are watched again without need", n)
		}
	}
	files.stop()
}
