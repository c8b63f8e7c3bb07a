package protocol

const MaxBatch = 1024

func (f *Frame) Parse(raw []byte) error { return nil }

func ParseBatch(raw []byte, each func(*Frame) error) error { return nil }
func IsBatch(raw []byte) bool                              { return false }
func Valid(raw []byte) error                               { return nil }
func (f *Frame) IDBytes() []byte                           { return f.ID.Of(f.Raw) }
func (f *Frame) ParamsBytes() []byte                       { return f.Params.Of(f.Raw) }
func (f *Frame) ResultBytes() []byte                       { return f.Result.Of(f.Raw) }
func (f *Frame) ErrorBytes() []byte                        { return f.Error.Of(f.Raw) }
func (f *Frame) MethodText() string                        { return "" }

func (p *Params) Scan(f *Frame) error     { return nil }
func (r *ResultInfo) Scan(f *Frame) error { return nil }

func Items(raw []byte, list Span, each func(Item) bool) error { return nil }
func ParseItem(raw []byte) (Item, error)                      { return Item{}, nil }
func Member(raw []byte, object Span, key string) Span         { return Span{} }
func MemberSpan(raw []byte, object Span, key string) Span     { return Span{} }

type Edit struct {
	Span Span
	With []byte
}

func Insert(off uint32, with []byte) Edit                           { return Edit{} }
func AppendEdited(dst, raw []byte, edits ...Edit) []byte            { return nil }
func InsertMember(raw []byte, object Span, member []byte) Edit      { return Edit{} }
func DeleteMember(raw []byte, object Span, key string) (Edit, bool) { return Edit{}, false }
func EditObject(edits []Edit, raw []byte, object Span, drop []string, members ...[]byte) []Edit {
	return nil
}

type Template struct{ text string }

func ParseTemplate(text string) (*Template, error)                    { return nil, nil }
func (t *Template) Match(uri string) bool                             { return false }
func (t *Template) MatchUnderscore(server, id string) bool            { return false }
func (t *Template) ExpandUnderscore(server, id string) (string, bool) { return "", false }
func (t *Template) Literals() int                                     { return 0 }
func (t *Template) Text() string                                      { return t.text }
