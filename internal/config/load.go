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
	"slices"
	"strings"
	"syscall"
	"time"
)

// Load reads and parses the file at path, using the environment of this process. The Report holds the errors of Parse,
// or why the file cannot be read (errors.Is finds fs.ErrNotExist). A file larger than MaxFileBytes is an error.
func Load(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		f := &Finding{File: path, Message: "cannot be read: " + reason(err), cause: err}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Message, f.Hint = "no such file", "correct its name, or name another file with --config or $GOBLIN_CONFIG"
		case errors.Is(err, fs.ErrPermission):
			f.Hint = "let the user that runs goblin-actor read the file and enter its directories"
		}
		return nil, Report{Faults: []*Finding{f}}
	}
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.everything()
	return d.parse(data)
}

// Outline is like Load, but does not run commands or read the keyring. It is for callers that do not need those
// values.
func Outline(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		return Load(path)
	}
	return parseAt(path, string(data))
}

// reads allows the decoder to read files that the file at path names. Relative names are resolved against the
// directory of path if it is a regular file. For a pipe, they are left as they are.
func (d *decoder) reads(path string) {
	d.read, d.may.files = readEnvFile, true
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return
	}
	if dir, err := filepath.Abs(filepath.Dir(path)); err == nil {
		d.base = dir
	}
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
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

// pipeTime is the time limit for reading a pipe.
const pipeTime = 10 * time.Second

// readPipe reads a named pipe, such as one that a shell creates for <(command). Opening a pipe blocks until a writer opens it, so readPipe
// opens it without blocking, and then waits for data until pipeTime has passed.
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
			return nil, fmt.Errorf("the pipe was not written and closed within %v", pipeTime)
		case err != nil || len(data) > 0:
			return data, err
		}
		time.Sleep(10 * time.Millisecond) // no writer has opened it yet
	}
}

// reason returns the message of a file system error without its path.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// Parse parses data. name is the name of the file for the Report. env resolves `${VAR}` (os.LookupEnv outside tests).
// The Config is nil if the Report has errors. Parse never panics, reads no file, and returns within seconds on any input.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, Report) {
	return newDecoder(name, env).parse(data)
}

// parse is like Parse, but reads the files that data names if the decoder may read files.
func (d *decoder) parse(data []byte) (*Config, Report) {
	cfg := d.whole(data)
	report := d.finish()
	if len(report.Faults) > 0 {
		return nil, report
	}
	return cfg, report
}

// whole decodes everything that can be decoded.
func (d *decoder) whole(data []byte) *Config {
	cfg := Default()
	cfg.Path = d.file
	if root := d.root(data); root != nil {
		d.listen = listensAt(root)
		if d.foreign {
			d.adopt(root)
		}
		d.rootVariables(root)
		d.fields(reflect.ValueOf(&cfg).Elem(), "", root, place{})
		if cfg.Cluster.Present {
			cfg.Digest = digest(root)
		}
		d.check(&cfg)
	}
	cfg.Secrets = d.known(&cfg)
	if d.read != nil {
		cfg.Files = append([]string{d.file}, d.files...)
	}
	return &cfg
}

// Salvage is like Load, but from a file with errors it returns what could be decoded, without the servers that have
// errors. The Config is nil if the file cannot be read, or if it has errors and no server is left.
func Salvage(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		return Load(path)
	}
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.everything()
	cfg := d.whole(data)
	report := d.finish()
	cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s Server) bool {
		at := join("mcpServers", s.Written)
		return slices.ContainsFunc(report.Faults, func(f *Finding) bool {
			return f.Path == at || strings.HasPrefix(f.Path, at+".") || strings.HasPrefix(f.Path, at+"[")
		})
	})
	if len(report.Faults) > 0 && len(cfg.Servers) == 0 {
		return nil, report
	}
	return cfg, report
}

func newDecoder(name string, env func(string) (string, bool)) *decoder {
	return &decoder{file: name, env: env, report: Report{origins: map[string]origin{}}, reported: map[string]bool{}}
}

// root parses the file. It returns nil if the file is empty, or after reporting that the file is not valid.
func (d *decoder) root(data []byte) *node {
	source, fault := decodeText(data)
	if fault == nil {
		fault = checkShape(source)
	}
	if fault != nil {
		d.fault(fault.line, fault.column, "", fault.message, fault.hint)
		return nil
	}
	source = []byte(blankComments(string(source)))
	d.lines = bytes.Split(source, []byte("\n"))
	root := parseTree(source, d.fault, d.warn)
	d.json = beginsJSON(string(source))
	d.foreign = root != nil && isForeign(source, root)
	return root
}

// Find returns the file to load: flag (`--config`), $GOBLIN_CONFIG, ./goblin.yaml or $XDG_CONFIG_HOME/goblin-actor/config.yaml (by default
// in ~/.config). The first two are returned even if the file does not exist, so that a misspelled name causes an error. ok is false if
// there is no file. getenv is os.Getenv outside tests.
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

// UserFile returns the path of the user's configuration, which may not exist. Without a home directory it is in the working directory.
func UserFile(getenv func(string) string) string {
	if base := configHome(getenv); base != "" {
		return filepath.Join(base, "goblin-actor", "config.yaml")
	}
	return "goblin.yaml"
}

// configHome returns the directory for user configurations, or "" if unknown.
func configHome(getenv func(string) string) string {
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) { // the XDG specification says to ignore a relative path
		return base
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := getenv(name); home != "" {
			return filepath.Join(home, ".config")
		}
	}
	return ""
}

// isDesktopFile reports whether name is the file of Claude Desktop. Unknown keys at its root are ignored.
func isDesktopFile(name string) bool {
	return strings.EqualFold(filepath.Base(name), desktopFile)
}

// Peek is like Load, but returns everything that could be decoded, even from a file with errors. It does not run
// commands or read the keyring. The Config is nil only if the file cannot be read.
func Peek(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		return Load(path)
	}
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	cfg := d.whole(data)
	return cfg, d.finish()
}
