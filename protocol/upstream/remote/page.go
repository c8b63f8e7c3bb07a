package remote

import (
	"fmt"
	"strings"

	"goblin-actor/internal/pattern"
)

// pageError means that a response is an HTML page: the URL is wrong, or requires a login in a browser.
type pageError struct {
	title string // title of the page; "" = none
	err   error  // why it is not a message
}

func (e *pageError) Error() string {
	if e.title == "" {
		return "the response is an HTML page: " + e.err.Error()
	}
	return fmt.Sprintf("the response is an HTML page, %q: %v", e.title, e.err)
}

func (e *pageError) Unwrap() error { return e.err }

const pageStart = 4 << 10 // number of bytes that are searched for a title

var (
	isPage  = pattern.Lazy(`(?i)<!doctype html|<html`)
	titleOf = pattern.Lazy(`(?i)<title[^>]*>\s*([^<]{1,100}?)\s*<`)
)

// notMessage returns the error for a body that is not a message. err is the parser's error.
func notMessage(body []byte, err error) error {
	head := body[:min(len(body), pageStart)]
	if !isPage().Match(head) {
		return fmt.Errorf("read response: %w", err)
	}
	page := &pageError{err: err}
	if title := titleOf().FindSubmatch(head); title != nil {
		page.title = strings.ToValidUTF8(string(title[1]), "")
	}
	return page
}
