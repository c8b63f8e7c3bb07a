package cluster

// Limits of the catalogs that a node sends to one that joins.
const (
	MaxCatalog     = 2 << 20  // bytes of an encoded catalog; a larger one is not sent
	MaxCatalogPart = 40 << 10 // bytes of it in one message
)

// CatalogPart is a part of the encoded catalog of a server, as a node knows it.
//
//	{"server":"files","offset":0,"size":1234,"data":"…"}
type CatalogPart struct {
	Server string `json:"server"`
	Offset int    `json:"offset,omitempty"` // of Data in the encoded catalog
	Size   int    `json:"size"`             // of the whole encoded catalog
	Data   []byte `json:"data"`
}

// Last reports whether the part is the last one of its catalog.
func (p *CatalogPart) Last() bool { return p.Offset+len(p.Data) == p.Size }

func (p *CatalogPart) valid() bool {
	return ValidName(p.Server) && 0 <= p.Offset && 0 < len(p.Data) && len(p.Data) <= MaxCatalogPart && p.Size <= MaxCatalog && p.Offset <= p.Size-len(p.Data)
}
