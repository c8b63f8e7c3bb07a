package config

import "cmp"

// inherit sets the values that servers and projects take from the gateway if they have none. It also replaces the value
// `true` of MetaTools with `all`.
func (c *Config) inherit() {
	for i := range c.Servers {
		s := &c.Servers[i]
		s.Tools.Invalid = cmp.Or(s.Tools.Invalid, c.Tools.Invalid)
		s.ValidateArguments = cmp.Or(s.ValidateArguments, c.ValidateArguments)
	}
	for i := range c.Projects {
		p := &c.Projects[i]
		p.ServerInfo.Name = cmp.Or(p.ServerInfo.Name, c.ServerInfo.Name)
		p.ServerInfo.Title = cmp.Or(p.ServerInfo.Title, c.ServerInfo.Title)
		p.Instructions = cmp.Or(p.Instructions, c.Instructions)
	}
	if c.MetaTools == "true" {
		c.MetaTools = "all"
	}
}
