package service

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/config"
)

// defaultName is the name of the service if --name is missing.
const defaultName = "goblin-actor"

// maxName limits the length of a name, in bytes.
const maxName = 60

// definition describes a service, independent of the system.
type definition struct {
	name    string
	program string   // absolute path
	args    []string // of the program
	env     []string // NAME=value, sorted; the service manager adds its own
	home    string   // the working directory
	user    string   // Windows: DOMAIN\name
}

// keptVariables are the variables of the installing shell that the service gets too, besides PATH: locations of files,
// the language, proxies and certificates. Others are left out, because the file of the definition would expose secrets
// in them.
var keptVariables = []string{
	"LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// defineService returns the service that runs the gateway with the configuration file. path is the service's PATH, and
// log the file for its log, or "" if the service manager keeps the log.
func defineService(name, file, path, log string) (definition, error) {
	self, err := program.Path()
	if err != nil {
		return definition{}, err
	}
	if strings.Contains(filepath.ToSlash(self), "/go-build") || strings.Contains(filepath.ToSlash(self), "/_npx/") {
		return definition{}, command.Fail(command.ExitFailed, errors.New(self+" is a temporary copy of the program"), "install goblin-actor permanently, then run the command again")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return definition{}, err
	}
	d := definition{name: name, program: self, home: home, args: []string{"serve", "--config", configfile.Absolute(file), "--service", name}, user: os.Getenv("USERDOMAIN") + `\` + os.Getenv("USERNAME")}
	if log != "" {
		d.args = append(d.args, "--log-file", log)
	}
	for _, key := range keptVariables {
		if value := os.Getenv(key); value != "" {
			d.env = append(d.env, key+"="+value)
		}
	}
	d.env = append(d.env, "PATH="+path)
	slices.Sort(d.env)
	for _, text := range slices.Concat(d.env, d.args, []string{d.program, d.home}) {
		if strings.ContainsAny(text, "\n\r\x00") {
			return definition{}, command.Fail(command.ExitFailed, errors.New("a path or variable for the service contains a line break"), "")
		}
	}
	return d, nil
}

// masked returns a copy of the definition in which the passwords of proxies are masked. passwords holds the names of the
// variables that contain them.
func (d definition) masked() (_ definition, passwords []string) {
	d.env = slices.Clone(d.env)
	for i, pair := range d.env {
		key, value, _ := strings.Cut(pair, "=")
		if name := strings.ToLower(key); name != "http_proxy" && name != "https_proxy" {
			continue
		}
		start, end := 0, strings.LastIndexByte(value, '@')
		if scheme := strings.Index(value, "://"); scheme >= 0 {
			start = scheme + len("://")
		}
		if end < start {
			continue
		}
		if user, _, has := strings.Cut(value[start:end], ":"); has {
			d.env[i] = key + "=" + value[:start] + user + ":***" + value[end:]
			passwords = append(passwords, key)
		}
	}
	return d, passwords
}

// configuration returns the file that the service would use: the one in flag, or the one that serve would use here.
func configuration(flag string) (string, error) {
	file, ok := config.Find(flag, os.Getenv)
	if !ok {
		return "", command.Fail(command.ExitFailed, errors.New("no configuration found"),
			"create "+config.UserFile(os.Getenv)+", or name a file with --config; \"goblin-actor add\" and \"goblin-actor config import\" create a file")
	}
	return file, nil
}

// checkName returns an error if name cannot be the name of a service.
func checkName(name string) error {
	if name == "" || len(name) > maxName || config.Slug(name) != name {
		return command.UsageError("use at most 60 lower-case letters, digits and -", "the value of --name is not valid") // not shown, because it may be a secret by mistake
	}
	return nil
}

// environ returns the environment of the service, as far as it is known: that of the definition, and the variables that
// every service manager sets.
func (d *definition) environ() []string {
	if runtime.GOOS == "windows" {
		return os.Environ() // the task gets the user's environment
	}
	env := slices.Clone(d.env)
	for _, key := range []string{"HOME", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS"} {
		if value := os.Getenv(key); value != "" {
			env = append(env, key+"="+value)
		}
	}
	return env
}

// stateDir returns the directory for the log and, on Windows, the task.
func stateDir() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Logs", "goblin-actor"), nil
	case "windows":
		return filepath.Join(cmp.Or(os.Getenv("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local")), "goblin-actor"), nil
	}
	return filepath.Join(home, ".local", "state", "goblin-actor"), nil
}
