package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"
)

// Load reads and parses the file at path with the variables of this process; errors are those of Parse, or why the
// file cannot be read (errors.Is finds fs.ErrNotExist). It never reads more than a config may have.
func Load(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		f := &Finding{File: path, Message: "cannot be read: " + reason(err), cause: err}
		if errors.Is(err, fs.ErrNotExist) {
			f.Message, f.Hint = "no such file", "--config or $GOBLIN_CONFIG names the file"
		}
		return nil, Report{Faults: []*Finding{f}}
	}
	cfg, report := Parse(path, data, os.LookupEnv)
	if cfg != nil {
		cfg.Path = path
	}
	return cfg, report
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return readPipe(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// pipeTime is how long a pipe may take to say all it has to say.
const pipeTime = 10 * time.Second

// readPipe reads a named pipe, or what a shell makes of <(command). Opening one waits for somebody who writes, for ever if
// need be, so it is opened without waiting, and what comes is waited for until pipeTime is over.
func readPipe(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	end := time.Now().Add(pipeTime)
	if err := f.SetReadDeadline(end); err != nil {
		return nil, err
	}
	for {
		data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) || err == nil && len(data) == 0 && time.Now().After(end):
			return nil, fmt.Errorf("it is a pipe, and nobody has written it to its end within %v", pipeTime)
		case err != nil || len(data) > 0:
			return data, err
		}
		time.Sleep(10 * time.Millisecond) // nobody has opened it to write yet
	}
}

// reason drops the path from an error of the file system.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// Parse parses data, called name in the Report. env answers `${VAR}` (os.LookupEnv outside tests).
// The Config is nil when the Report has faults. Parse never panics, reads no file and ends within seconds on any input.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, Report) {
	d := newDecoder(name, env)
	cfg := Default()
	cfg.Path = name
	if root := d.root(data); root != nil {
		d.fields(reflect.ValueOf(&cfg).Elem(), "", root, place{})
		d.check(&cfg)
	}
	report := d.finish()
	if len(report.Faults) > 0 {
		return nil, report
	}
	return &cfg, report
}

func newDecoder(name string, env func(string) (string, bool)) *decoder {
	return &decoder{file: name, env: env, report: Report{origins: map[string]origin{}}, reported: map[string]bool{}}
}

// root parses the file; nil when it is empty or, with the fault reported, when it is no YAML we read.
func (d *decoder) root(data []byte) *node {
	source, fault := decodeText(data)
	if fault == nil {
		fault = checkShape(source)
	}
	if fault != nil {
		d.fault(fault.line, fault.column, "", fault.message, fault.hint)
		return nil
	}
	d.lines = bytes.Split(source, []byte("\n"))
	return parseTree(source, d.fault, d.warn)
}

// Find is the file to load: flag (`--config`), $GOBLIN_CONFIG, ./goblin.yaml, $XDG_CONFIG_HOME/goblin-actor/config.yaml
// (where that variable is not set, ~/.config). The first two count whether or not there is such a file, so that a
// misspelled name is an error; ok is false when there is nothing to load. getenv is os.Getenv outside tests.
func Find(flag string, getenv func(string) string) (path string, ok bool) {
	for _, named := range []string{flag, getenv("GOBLIN_CONFIG")} {
		if named != "" {
			return named, true
		}
	}
	candidates := []string{"goblin.yaml"}
	if base := configHome(getenv); base != "" {
		candidates = append(candidates, filepath.Join(base, "goblin-actor", "config.yaml"))
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
			return candidate, true
		}
	}
	return "", false
}

// configHome is where users keep their configurations; "" = unknown.
func configHome(getenv func(string) string) string {
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) { // the XDG specification: a relative one is ignored
		return base
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := getenv(name); home != "" {
			return filepath.Join(home, ".config")
		}
	}
	return ""
}

// isDesktopFile tells whether name is the config of Claude Desktop, whose other keys are none of our business.
func isDesktopFile(name string) bool {
	return strings.EqualFold(filepath.Base(name), desktopFile)
}
