package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Read converts typed text to a value of the field and checks it. The text may name an option by value, title or number.
// The elements of an array are separated by commas.
func (f *Field) Read(text string) (json.RawMessage, error) {
	var value json.RawMessage
	switch {
	case f.Type == "array":
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			one, err := f.option(part)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		value = raw
	case len(f.options) > 0:
		one, err := f.option(text)
		if err != nil {
			return nil, err
		}
		value = Quoted(one)
	case f.Type == "boolean":
		yes, ok := YesOrNo(text)
		if !ok {
			return nil, errors.New("want yes or no")
		}
		value = strconv.AppendBool(nil, yes)
	case f.Type == "string":
		value = Quoted(text)
	case f.Type == "integer" || f.Type == "number":
		raw, ok := typed(f.Type, strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("want %s", describeNumber(f.Type))
		}
		value = raw
	default:
		value = guess(text)
	}
	return value, f.Check(value)
}

func describeNumber(kind string) string {
	if kind == "integer" {
		return "a whole number"
	}
	return "a number"
}

// YesOrNo parses the answer to a yes-or-no question or a boolean field: y, yes, true, n, no or false in any case. For any
// other text, ok is false.
func YesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes", "true":
		return true, true
	case "n", "no", "false":
		return false, true
	}
	return false, false
}

// option finds an option by its exact value, otherwise by its value or title ignoring case, otherwise by its number. If
// the field has no options, it returns the text.
func (f *Field) option(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(f.options) == 0 {
		return text, nil // any text is permitted
	}
	for _, same := range []func(option) bool{
		func(o option) bool { return o.Value == text },
		func(o option) bool { return strings.EqualFold(o.Value, text) || strings.EqualFold(o.Title, text) },
	} {
		if i := slices.IndexFunc(f.options, same); i >= 0 {
			return f.options[i].Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.options) {
		return f.options[n-1].Value, nil
	}
	return "", fmt.Errorf("%q is not one of: %s", oneLine(text, 40), f.optionList())
}

// Check returns an error if a value is invalid for the field.
func (f *Field) Check(value json.RawMessage) error {
	switch f.Type {
	case "string":
		var text string
		if json.Unmarshal(value, &text) != nil {
			return errors.New("want a string")
		}
		return f.checkText(text)
	case "integer", "number":
		raw, ok := typed(f.Type, string(value))
		if !ok {
			return fmt.Errorf("want %s", describeNumber(f.Type))
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f.Minimum != nil && n < *f.Minimum || f.Maximum != nil && n > *f.Maximum {
			return fmt.Errorf("want %s%s", describeNumber(f.Type), between(f.Minimum, f.Maximum))
		}
	case "boolean":
		if s := string(value); s != "true" && s != "false" {
			return errors.New("want yes or no")
		}
	case "array":
		var list []string
		if json.Unmarshal(value, &list) != nil {
			return errors.New("want a list of strings")
		}
		return f.checkList(list)
	}
	return nil
}

func (f *Field) checkText(text string) error {
	if len(f.options) > 0 {
		if !f.offers(text) {
			return fmt.Errorf("%q is not one of: %s", oneLine(text, 40), f.optionList())
		}
		return nil
	}
	n := utf8.RuneCountInString(text)
	switch {
	case len(text) > maxFormText:
		return fmt.Errorf("want at most %d bytes", maxFormText)
	case f.MinLength != nil && float64(n) < *f.MinLength:
		return fmt.Errorf("want %g or more characters, got %d", *f.MinLength, n)
	case f.MaxLength != nil && float64(n) > *f.MaxLength:
		return fmt.Errorf("want %g or fewer characters, got %d", *f.MaxLength, n)
	}
	if f.Pattern != "" && len(f.Pattern)*len(text) <= 16*maxFormText { // if both are long, the server checks the pattern
		if p, err := regexp.Compile(f.Pattern); err == nil && !p.MatchString(text) {
			return fmt.Errorf("want text that matches %s", oneLine(f.Pattern, 60))
		}
	}
	return checkFormat(f.Format, text)
}

// checkFormat checks the formats that MCP defines. It accepts any text for other formats.
func checkFormat(format, text string) error {
	var err error
	switch format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = errors.New("text besides the address")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("want %s", formatExamples[format])
	}
	return nil
}

var formatExamples = map[string]string{
	"email": "an address such as me@example.com", "uri": "a URI such as https://example.com",
	"date": "a date such as 2026-07-28", "date-time": "a time such as 2026-07-28T12:00:00Z",
}

func (f *Field) checkList(list []string) error {
	if len(list) > maxFormItems {
		return fmt.Errorf("want %d or fewer values", maxFormItems)
	}
	for i, text := range list {
		if len(f.options) > 0 && !f.offers(text) {
			return fmt.Errorf("%q is not one of: %s", oneLine(text, 40), f.optionList())
		}
		if slices.Contains(list[:i], text) {
			return fmt.Errorf("%q occurs twice", oneLine(text, 40))
		}
	}
	switch {
	case f.MinItems != nil && float64(len(list)) < *f.MinItems:
		return fmt.Errorf("want %g or more values", *f.MinItems)
	case f.MaxItems != nil && float64(len(list)) > *f.MaxItems:
		return fmt.Errorf("want %g or fewer values", *f.MaxItems)
	}
	return nil
}

func (f *Field) offers(value string) bool {
	return slices.ContainsFunc(f.options, func(o option) bool { return o.Value == value })
}
