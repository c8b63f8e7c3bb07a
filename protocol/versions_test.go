package protocol

import "testing"

func TestVersions(t *testing.T) {
	for _, v := range LegacyVersions {
		if !IsLegacy(v) || Negotiate(v) != v {
			t.Errorf("version %s", v)
		}
	}
	for _, v := range []string{Version20260728, "", "2025-01-01", "x"} {
		if IsLegacy(v) || Negotiate(v) != "2025-11-25" {
			t.Errorf("version %q", v)
		}
	}
}
