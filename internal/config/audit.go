package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AuditPath returns the absolute path of the audit log, or "" if there is none.
func (c *Config) AuditPath() string {
	if c.Audit.File == "" {
		return ""
	}
	path := c.Beside(c.Audit.File)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// checkAudit reports problems that would prevent writing the audit log.
func (d *decoder) checkAudit(c *Config) {
	if c.Audit.File == "" {
		if o := d.report.origins["audit"]; c.Audit.Required {
			d.complain("audit", "required is set, but there is no file", "write file: audit.jsonl")
		} else if o.line > 0 {
			d.warn(o.line, o.column, "audit", "without a file, nothing is recorded", "write file: audit.jsonl")
		}
		return
	}
	path := c.AuditPath()
	for _, other := range []struct{ key, file string }{{"auth.keys", c.Auth.Keys}, {"tls.cert", c.TLS.Cert}, {"tls.key", c.TLS.Key}} {
		if other.file != "" && sameFile(path, c.Beside(other.file)) {
			d.complain("audit.file", "this is the same file as "+other.key, "use a separate file, for example audit.jsonl")
		}
	}
	if c.Path != "" && sameFile(path, c.Path) {
		d.complain("audit.file", "this is the configuration file itself", "use a separate file, for example audit.jsonl")
	}
	if d.read == nil {
		return
	}
	if fault := auditFault(path); fault != "" {
		d.complain("audit.file", fault, "use a file in an existing directory that you may write to; the gateway creates the file, not the directory")
	}
}

// auditFault returns why path cannot be an audit log, or "". It writes nothing.
func auditFault(path string) string {
	switch info, err := os.Stat(filepath.Dir(path)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("directory %q does not exist", clip(filepath.Dir(path)))
	case err != nil:
		return err.Error()
	case !info.IsDir():
		return fmt.Sprintf("%q is not a directory", clip(filepath.Dir(path)))
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return err.Error()
	case info.Mode()&fs.ModeSymlink != 0:
		return "the audit log must not be a symbolic link"
	case !info.Mode().IsRegular():
		return "not a regular file"
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err.Error()
	}
	if err := f.Close(); err != nil {
		return err.Error()
	}
	return ""
}

func sameFile(a, b string) bool {
	absolute, err := filepath.Abs(a)
	if other, otherErr := filepath.Abs(b); err == nil && otherErr == nil && absolute == other {
		return true
	}
	is, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(is, other)
}
