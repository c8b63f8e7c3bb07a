package remote

import (
	"fmt"
	"strings"

	"goblin-actor/internal/pattern"
)

// pageError says that an answer is a page for people: the url is wrong, or somebody has to log in.
type pageError struct {
	title string // of the page; "" = none
	err   error  // why it is no message
}

func (e *pageError) Error() string {
	if e.title == "" {
		return "the answer is an html page: " + e.err.Error()
	}
	return fmt.Sprintf("the answer is an html page, %q: %v", e.title, e.err)
}

func (e *pageError) Unwrap() error { return e.err }

const pageStart = 4 << 10 // of a page: a title stands there, if anywhere

var (
	isPage  = pattern.Lazy(`(?i)<!doctype html|<html`)
	titleOf = pattern.Lazy(`(?i)<title[^>]*>\s*([^<]{1,100}?)\s*<`)
)

// notMessage is err, which says why body is no message, with what it is instead where that can be seen.
func notMessage(body []byte, err error) error {
	head := body[:min(len(body), pageStart)]
	if !isPage().Match(head) {
		return fmt.Errorf("read answer: %w", err)
	}
	page := &pageError{err: err}
	if title := titleOf().FindSubmatch(head); title != nil {
		page.title = strings.ToValidUTF8(string(title[1]), "")
	}
	return page
}
