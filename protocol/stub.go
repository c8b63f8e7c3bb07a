package protocol

type Template struct{ text string }

func ParseTemplate(text string) (*Template, error)                    { return nil, nil }
func (t *Template) Match(uri string) bool                             { return false }
func (t *Template) MatchUnderscore(server, id string) bool            { return false }
func (t *Template) ExpandUnderscore(server, id string) (string, bool) { return "", false }
func (t *Template) Literals() int                                     { return 0 }
func (t *Template) Text() string                                      { return t.text }
