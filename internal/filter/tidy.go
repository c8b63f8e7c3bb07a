package filter

import "strings"

// tidyURI writes a URI, or a pattern of URIs, in the one way in which they are compared: / for every run of slashes and
// backslashes; scheme and authority in lower case, without what makes no difference to where they lead; dot segments resolved if that
// is asked for. Of a public URI that is done with the server's own in it, too.
func tidyURI(uri string, dots bool) string {
	tidy := tidied(uri, dots, maxNested)
	if !dots || !strings.ContainsAny(uri, ". ") {
		return tidy
	}
	for range maxNested { // a scheme, or a URI in a URI, may have come to light behind dot segments and blanks
		again := tidied(tidy, dots, maxNested)
		if again == tidy {
			break
		}
		tidy = again
	}
	return tidy
}

// maxNested is how many gateways one behind the other have put their names before a URI that is looked into.
const maxNested = 4

// publicScheme is that of public URIs of servers: resource://files/file:///logs.
const publicScheme = "resource:"

func tidied(uri string, dots bool, depth int) string {
	uri = strings.Trim(uri, " ") // as whoever parses it does
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

// cutOwn finds the server and its own URI in what follows the scheme of a public one; false when that holds no URI with a scheme.
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

// portOf is the port of a scheme whose URIs always have an authority, however many slashes stand before it (WHATWG URL, special schemes).
var portOf = map[string]string{"http:": ":80", "https:": ":443", "ws:": ":80", "wss:": ":443", "ftp:": ":21"}

// tidyAuthority writes the authority in what follows a scheme, if there is one, as it is compared: in lower case, and where all programs agree what it
// means also without user, without the port that is meant anyway and without a dot at its end. This machine's own name before a file is none.
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
