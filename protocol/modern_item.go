package protocol

// LegacyItem returns a modern server's listed item as legacy clients can read it; raw itself when nothing changes.
func LegacyItem(kind ItemKind, raw []byte) []byte { return raw }

// ModernItem returns a legacy server's listed item without what the modern era has dropped; raw itself when nothing changes.
func ModernItem(kind ItemKind, raw []byte) []byte { return raw }
