package meta

import (
	"regexp"
	"strings"
	"sync"
)

// literal is a pattern for text in a query that is an argument of the later call and not a description of the tool.
type literal struct {
	needs string // a text without any of these characters cannot match
	form  *regexp.Regexp
	means string
}

var literals = sync.OnceValue(func() (list []literal) {
	for _, l := range [][3]string{
		{"@", `[\w.+-]+@[\w-]+\.[\w.]+`, "email"},
		{".:", `(?i)\b(https?|ftp)://\S+|\bwww\.\S+|\b[\w-]+(\.[\w-]+)*\.(com|org|net|io|dev|edu|gov|info|app|de|uk|fr|eu)\b(/\S*)?`, "url"},
		{"0123456789", `(?i)\b\d{1,2}(:\d\d)?\s?(am|pm|o'?clock)\b|\b\d{1,2}:\d\d\b`, "time"},
		{".", `(?i)[\w./~-]*\b[\w-]+\.(png|jpe?g|gif|svg|webp|bmp)\b`, "image file"},
		{".", `(?i)[\w./~-]*\b[\w-]+\.(txt|md|csv|json|ya?ml|xml|html?|pdf|docx?|xlsx?|log|py|go|js|ts|java|c|h|rs|sh|sql)\b`, "file"},
		{"/", `(^|\s)(~|\.{1,2})?/[\w./-]+`, "path"},
	} {
		list = append(list, literal{l[0], regexp.MustCompile(l[1]), l[2]})
	}
	return list
})

// cutLiterals replaces addresses, times and file names in a query with words for their kind, and returns the removed
// texts separately.
func cutLiterals(query string) (rest, cut string) {
	var b strings.Builder
	for _, l := range literals() {
		if !strings.ContainsAny(query, l.needs) {
			continue
		}
		query = l.form.ReplaceAllStringFunc(query, func(text string) string {
			b.WriteString(text + " ")
			return " " + l.means + " "
		})
	}
	return query, b.String()
}
