package message

import "testing"

// A declared capability counts in every version, even in those that do not define it. Before 2025-11-25 elicitation
// has no modes, so a client that declares it can always show forms.
func TestCanInAVersion(t *testing.T) {
	tests := []struct {
		declared, version string
		want              CapabilitySet
	}{
		{`{"elicitation":{},"sampling":{"tools":{}},"roots":{}}`, "2024-11-05", CanForm | CanSample | CanSampleTools | CanRoots},
		{`{"elicitation":{},"sampling":{}}`, "2025-03-26", CanForm | CanSample},
		{`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}`, "2025-06-18", CanForm | CanURL | CanSample | CanSampleTools},
		{`{"elicitation":{"url":{}}}`, "2025-06-18", CanForm | CanURL}, // in this version, the elicitation object always declares form
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
