package message

import "testing"

// What a version does not have its clients cannot answer, whatever they declare.
func TestCanInAVersion(t *testing.T) {
	tests := []struct {
		declared, version string
		want              Can
	}{
		{`{"elicitation":{},"sampling":{"tools":{}},"roots":{}}`, "2024-11-05", CanSample | CanRoots},
		{`{"elicitation":{},"sampling":{}}`, "2025-03-26", CanSample},
		{`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}`, "2025-06-18", CanForm | CanSample},
		{`{"elicitation":{"url":{}}}`, "2025-06-18", CanForm}, // the object alone says it there
		{`{"roots":{}}`, "2025-06-18", CanRoots},
		{`{"elicitation":{"url":{}},"sampling":{"tools":{}}}`, "2025-11-25", CanURL | CanSample | CanSampleTools},
		{`{"elicitation":{"form":{},"url":{}}}`, "2026-07-28", CanForm | CanURL},
	}
	for _, test := range tests {
		if got := CanOf([]byte(test.declared)).In(test.version); got != test.want {
			t.Errorf("%s in %s: %05b, want %05b", test.declared, test.version, got, test.want)
		}
	}
}
