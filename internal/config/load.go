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
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.everything()
	return d.parse(data)
}

// Outline is Load for those who do not go by values: no command is run, and the keyring is not asked.
func Outline(path string) (*Config, Report) {
	data, err := readFile(path)
	if err != nil {
		return Load(path)
	}
	return parseAt(path, string(data))
}

// reads lets the decoder read what the file at path names, relative to it. What comes out of a pipe has no place.
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
	return newDecoder(name, env).parse(data)
}

// parse is Parse, and reads the files that data names if it may.
func (d *decoder) parse(data []byte) (*Config, Report) {
	cfg := d.whole(data)
	report := d.finish()
	if len(report.Faults) > 0 {
		return nil, report
	}
	return cfg, report
}

// whole reads all that can be read.
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
		d.check(&cfg)
	}
	cfg.Secrets = d.known(&cfg)
	if d.read != nil {
		cfg.Files = append([]string{d.file}, d.files...)
	}
	return &cfg
}

// Salvage is Load for those who want what is left of a file with faults: the servers that have none. The Config is nil only
// when nothing of it could be read.
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
	source = []byte(blankComments(string(source)))
	d.lines = bytes.Split(source, []byte("\n"))
	root := parseTree(source, d.fault, d.warn)
	d.json = beginsJSON(string(source))
	d.foreign = root != nil && isForeign(source, root)
	return root
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

// UserFile is the configuration of the user, whether or not there is one; in the working directory where that is not known.
func UserFile(getenv func(string) string) string {
	if base := configHome(getenv); base != "" {
		return filepath.Join(base, "goblin-actor", "config.yaml")
	}
	return "goblin.yaml"
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

// Peek is Load for those who want to know one thing of a file that may have faults: whatever could be read of it. The Config is nil only
// when the file cannot be read at all.
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
