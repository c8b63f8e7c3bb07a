// Package desktop knows the files in which other programs keep their MCP servers: where they are, how they are written,
// which servers stand in them, and how an entry of ours gets into them.
//
//	client, _ := desktop.ByID("cursor")
//	path, err := client.Find(desktop.ThisHost())
//	file, err := config.OpenFile(path, desktop.MaxFileBytes)
//	edited, err := client.Install(file.Text, "goblin", desktop.Ours{Command: "/usr/local/bin/goblin-actor", Args: []string{"stdio"}})
//	backup, err := file.Replace(edited, true)
//
// The files are JSON, with comments and trailing commas where their programs allow these. They are changed by splices
// at places of the syntax tree, and what comes out is trusted only when it means what was there before with just that
// change; so everything else in them stays as it is, byte for byte.
//
// Invariants: a file that cannot be parsed is never changed. No error, note or diff holds a value of env or headers, nor
// any text of the parts of a file that are not ours. Input is bounded in size, depth and number of values before it is
// parsed. The package holds no state and writes nothing; its functions may be called from any goroutine.
package desktop
