package status

// OffersNothing reports whether the server lists no tools, prompts, resources or templates.
func (s *Server) OffersNothing() bool {
	return s.Tools+s.Prompts+s.Resources+s.Templates == 0
}
