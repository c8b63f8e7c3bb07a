package config

import (
	"net/url"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

var (
	// anyPlaceholder matches placeholders for values of any kind: <YOUR_API_KEY>, YOUR_TOKEN_HERE, your-org, /path/to/dir.
	anyPlaceholder = pattern.Lazy(`(?i)^<[a-z][a-z0-9 _.:-]*>$|^\[?(?:(?:insert|enter|put|add|paste|replace)[ _-](?:with[ _-])?)?your[_-][a-z0-9_-]+\]?$|` +
		`^[a-z0-9]+[_-]([a-z0-9]+[_-])*here$|^/path/to(?:/|$)|^[a-z]:\\path\\to|^(?:change|replace)[ _-]?(?:me|this|it)[!.]?$|^x{4,}$`)

	// secretPlaceholder matches placeholders for secrets: sk-xxxx, ghp_…, {{token}}, your secret key, ****.
	secretPlaceholder = pattern.Lazy(`(?i)^(?:[a-z0-9]{1,10}[_-]){0,3}x{3,}(?:[_-]?x{3,})*(?:\.{3}|…)?$|(?:\.{3}|…|\*{3,})$|` +
		`^(?:\{\{?|\[|%|__)[a-z][a-z0-9 _.-]*(?:\}\}?|\]|%|__)$|your[ _-]?(?:[a-z]+[ _-]?){0,3}(?:key|token|secret|password|credential|pat)|` +
		`^(?:placeholder|todo|tbd|fixme|insert[ _-].*|replace[ _-]with.*)$`)

	bareVariable = pattern.Lazy(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
	authScheme   = pattern.Lazy(`(?i)^(?:bearer|basic|token)(?: +|$)`)
	flagWord     = pattern.Lazy(`^--?[A-Za-z][A-Za-z0-9_-]*$`)
)

// placeholderFault returns what is wrong with a value that is a placeholder, or "" if it may be real. name is the name of the value, or "". The
// result never contains the value.
func placeholderFault(name, value string) string {
	bare := strings.TrimSpace(value)
	isSecret := secret.HasWord(name)
	if isSecret {
		bare = strings.TrimSpace(authScheme().ReplaceAllString(bare, ""))
	}
	switch {
	case len(bare) > 200:
		return ""
	case isSecret && bare == "":
		return "is empty, although the name suggests a secret"
	case anyPlaceholder().MatchString(bare), isSecret && (secretPlaceholder().MatchString(bare) || strings.EqualFold(bare, name)):
		return "is a placeholder, not a value"
	case isSecret && bareVariable().MatchString(bare):
		return "refers to a variable without braces, so it is sent as written"
	}
	return ""
}

// checkPlaceholders warns about placeholders that have not been replaced by values.
func (d *decoder) checkPlaceholders(s *Server, at func(string) string) {
	for key, texts := range map[string]map[string]string{"env": s.Env, "headers": s.Headers} {
		for _, name := range sortedKeys(texts) {
			d.checkPlaceholder(join(at(key), name), name, texts[name])
		}
	}
	before := ""
	for i, arg := range s.Args {
		name, value := before, arg
		if flag, rest, ok := strings.Cut(arg, "="); ok {
			name, value = flag, rest
		} else if head, rest, ok := strings.Cut(arg, ":"); ok && secret.HasWord(head) {
			name, value = head, strings.TrimSpace(rest)
		}
		if before = ""; flagWord().MatchString(arg) {
			before = arg
			continue
		}
		if value != "" || name != before {
			d.checkPlaceholder(d.itemPath(at("args"), i), name, value)
		}
	}
	key := "urls"
	if d.written(at("url")) {
		key = "url"
	}
	for i, address := range s.URLs {
		d.checkPlaceholderURL(d.itemPath(at(key), i), address)
	}
	if s.Auth.ClientSecret != "" {
		d.checkPlaceholder(at("auth")+".clientSecret", "clientSecret", s.Auth.ClientSecret)
	}
}

func (d *decoder) checkPlaceholderURL(path, address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	for _, part := range slices.Concat(strings.Split(u.Hostname(), "."), strings.Split(u.Path, "/")) {
		if part != "" && placeholderFault("", part) != "" {
			d.checkPlaceholder(path, "", part)
			return
		}
	}
	query := u.Query()
	for _, name := range sortedKeys(query) {
		for _, value := range query[name] {
			if placeholderFault(name, value) != "" {
				d.checkPlaceholder(path, name, value)
				return
			}
		}
	}
}

// checkPlaceholder warns if the value at path is a placeholder. An empty default, `${NAME:-}`, is considered
// intended.
func (d *decoder) checkPlaceholder(path, name, value string) {
	said := placeholderFault(name, value)
	o := d.report.origins[path]
	if said == "" || d.reported[path] || value == "" && strings.HasSuffix(o.written, ":-}") {
		return
	}
	variable := "NAME"
	if isVariable(name) && strings.ToUpper(name) == name {
		variable = name
	}
	hint := "write the real value, or write ${" + variable + "} and set the variable"
	switch {
	case len(o.refs) > 0:
		hint = "set " + o.refs[0].name + " to the real value"
	case strings.HasPrefix(said, "refers to a variable"):
		hint = "write ${" + strings.TrimPrefix(authScheme().ReplaceAllString(strings.TrimSpace(value), ""), "$") + "}"
	}
	d.suspect(path, said, hint)
}
