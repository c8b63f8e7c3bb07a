package secret

// Values are secrets. They are for a Redactor; printed, they are hidden.
type Values []string

// String keeps them out of logs.
func (Values) String() string { return Hidden }

// GoString likewise.
func (Values) GoString() string { return Hidden }

// MarshalText likewise, where something is written as JSON.
func (Values) MarshalText() ([]byte, error) { return []byte(Hidden), nil }
