package filter

import "strings"

// tidyURI normalizes a URI, or a pattern, for comparison. It replaces each run of slashes and backslashes with /,
// converts scheme and authority to lower case and removes their irrelevant parts. If dots is true, it resolves dot
// segments. In a public URI, it also normalizes the server's URI inside.
func tidyURI(uri string, dots bool) string {
	tidy := tidied(uri, dots, maxNested)
	if !dots || !strings.ContainsAny(uri, ". ") {
		return tidy
	}
	for range maxNested { // removing dot segments and spaces may reveal a scheme or an inner URI
		again := tidied(tidy, dots, maxNested)
		if again == tidy {
			break
		}
		tidy = again
	}
	return tidy
}

// maxNested is the maximum number of nested public URIs to normalize, one for each gateway in a chain.
const maxNested = 4

// publicScheme is the scheme of public URIs: resource://files/file:///logs.
const publicScheme = "resource:"

func tidied(uri string, dots bool, depth int) string {
	uri = strings.Trim(uri, " ") // as URL parsers do
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || strings.ContainsAny(scheme, `/\`) {
		scheme, rest = "", uri
	} else {
		scheme = strings.ToLower(scheme) + ":"
	}
	rest = strings.ReplaceAll(rest, `\`, "/")
	if scheme == publicScheme && depth > 0 {
		if server, own, found := cutOwn(rest); found {
			return scheme + "/" + strings.ToLower(server) + "/" + tidied(own, dots, depth-1)
		}
	}
	rest = tidyAuthority(scheme, rest)
	var segments []string
	for segment := range strings.SplitSeq(rest, "/") {
		switch {
		case segment == "", dots && segment == ".":
		case dots && segment == "..":
			segments = segments[:max(0, len(segments)-1)]
		default:
			segments = append(segments, segment)
		}
	}
	tidy := strings.Join(segments, "/")
	if strings.HasPrefix(rest, "/") {
		tidy = "/" + tidy
	}
	if strings.HasSuffix(rest, "/") && tidy != "/" {
		tidy += "/"
	}
	return scheme + tidy
}

// cutOwn splits the rest of a public URI into the server and its URI. ok is false if the latter has no scheme.
func cutOwn(rest string) (server, own string, ok bool) {
	server, own, ok = strings.Cut(strings.TrimLeft(rest, "/"), "/")
	own = strings.TrimLeft(own, "/ ")
	colon := strings.IndexByte(own, ':')
	if !ok || server == "." || server == ".." || colon < 1 {
		return "", "", false
	}
	for i := range colon {
		c := own[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (own[i] < '0' || own[i] > '9') && own[i] != '+' && own[i] != '-' && own[i] != '.') {
			return "", "", false
		}
	}
	return server, own, true
}

// portOf maps each special scheme (WHATWG URL) except file to its default port. In these URIs any number of slashes
// may precede the authority.
var portOf = map[string]string{"http:": ":80", "https:": ":443", "ws:": ":80", "wss:": ":443", "ftp:": ":21"}

// tidyAuthority normalizes the authority in the rest of a URI, if it has one: in lower case and, for special schemes,
// without user, default port and trailing dot. It removes localhost from file URIs.
func tidyAuthority(scheme, rest string) string {
	port, special := portOf[scheme]
	after, ok := strings.CutPrefix(rest, "//")
	switch {
	case special:
		after = strings.TrimLeft(rest, "/")
	case !ok:
		return rest
	}
	end := strings.IndexByte(after, '/')
	if special {
		end = strings.IndexAny(after, "/?#")
	}
	authority, path := after, "/"
	if end >= 0 {
		authority, path = after[:end], after[end:]
	}
	if authority = strings.ToLower(authority); special {
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
		authority = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(authority, port), ":"), ".")
	}
	if scheme == "file:" && authority == "localhost" {
		authority = ""
	}
	return "//" + authority + "/" + strings.TrimPrefix(path, "/")
}
