package remote

import (
	"iter"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxCookies     = 32       // cookies stored for one link
	maxCookieBytes = 4 << 10  // longest Set-Cookie value read; browsers have the same limit
	maxCookieTotal = 16 << 10 // names and values of all stored cookies, which share one request header
)

// cookies holds the cookies of one link's server, so that a load balancer routes the requests of a session to the
// replica that started it. RFC 6265.
//
// A link sends requests to one origin only, and its cookies end with it. So no cookie reaches another origin, the requests of a login,
// or another client's connection. A new session is not bound to the replica that lost the previous one. Nothing logs a cookie. Public
// suffixes need no check, because only the origin that set a cookie gets it back.
type cookies struct {
	url     url.URL               // URL of the origin, with the host that the server sees
	secrets func(values []string) // Options.Cookies
	some    atomic.Bool           // there are cookies; checked without a lock
	mu      sync.Mutex            // guards the rest
	jar     *cookiejar.Jar
	stored  []storedCookie // contents of jar, oldest first; jar itself has no limits
}

// storedCookie is a cookie that the jar holds. Name, domain and path identify it: RFC 6265, section 5.3.
type storedCookie struct{ name, domain, path, value string }

func newCookies(origin url.URL, secrets func(values []string)) *cookies {
	return &cookies{url: origin, secrets: secrets}
}

// take stores the cookies of a response to a request for path. A cookie that is invalid or too long is ignored. At the
// limits a new cookie replaces the oldest one.
func (c *cookies) take(path string, values iter.Seq[string]) {
	for value := range values {
		if len(value) > maxCookieBytes {
			continue
		}
		if cookie, err := http.ParseSetCookie(value); err == nil {
			c.set(c.at(path), cookie)
		}
	}
}

func (c *cookies) set(at *url.URL, cookie *http.Cookie) {
	host := strings.ToLower(at.Hostname())
	if cookie.Domain = strings.ToLower(strings.TrimPrefix(cookie.Domain, ".")); cookie.Domain == host {
		cookie.Domain = "" // no request goes to a subdomain
	}
	if cookie.Path == "" || cookie.Path[0] != '/' {
		cookie.Path = defaultPath(at.Path)
	}
	key := storedCookie{cookie.Name, cookie.Domain, cookie.Path, cookie.Value}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		c.jar, _ = cookiejar.New(nil) // the error is always nil
	}
	known := slices.Contains(c.stored, key)
	c.stored = slices.DeleteFunc(c.stored, key.same)
	c.jar.SetCookies(at, []*http.Cookie{cookie})
	if cookie.MaxAge >= 0 && (cookie.MaxAge > 0 || cookie.Expires.IsZero() || cookie.Expires.After(time.Now())) {
		c.stored = append(c.stored, key)
	}
	for len(c.stored) > maxCookies || c.bytes() > maxCookieTotal {
		oldest := c.stored[0]
		c.stored = c.stored[1:]
		c.jar.SetCookies(at, []*http.Cookie{{Name: oldest.name, Domain: oldest.domain, Path: oldest.path, MaxAge: -1}})
	}
	c.some.Store(len(c.stored) > 0)
	if c.secrets != nil && !known {
		values := []string{}
		for _, k := range c.stored {
			values = append(values, k.value)
		}
		c.secrets(values)
	}
}

func (k storedCookie) same(other storedCookie) bool {
	return k.name == other.name && k.domain == other.domain && k.path == other.path
}

func (c *cookies) bytes() (n int) {
	for _, k := range c.stored {
		n += len(k.name) + len(k.value)
	}
	return n
}

// header returns the Cookie header of a request for path: configured, the value from the configuration, and then the server's
// cookies. If a name is in both, the configured cookie is sent. It returns "" if there are no cookies.
func (c *cookies) header(path, configured string) string {
	if !c.some.Load() {
		return configured
	}
	c.mu.Lock()
	set := c.jar.Cookies(c.at(path))
	c.mu.Unlock()
	own, _ := http.ParseCookie(configured)
	header := strings.TrimRight(configured, "; ")
	for _, cookie := range set {
		if slices.ContainsFunc(own, func(o *http.Cookie) bool { return o.Name == cookie.Name }) {
			continue
		}
		if header != "" {
			header += "; "
		}
		header += cookie.String()
	}
	return header
}

// at returns the URL of a path, which may have a query.
func (c *cookies) at(path string) *url.URL {
	at := c.url
	at.Path, _, _ = strings.Cut(path, "?")
	return &at
}

// defaultPath returns the path that a cookie without a path applies to: RFC 6265, section 5.1.4.
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
