// Package desktop reads and edits the files in which desktop clients keep their MCP servers. It finds the files,
// supports their formats, lists their servers, and adds an entry for this gateway.
//
//	client, _ := desktop.ByID("cursor")
//	path, err := client.Find(desktop.ThisHost())
//	file, err := config.OpenFile(path, desktop.MaxFileBytes)
//	edited, err := client.Install(file.Text, "goblin", desktop.Ours{Command: "/usr/local/bin/goblin-actor", Args: []string{"stdio"}})
//	backup, err := file.Replace(edited, true)
//
// The files are JSON, with comments and trailing commas if the client allows them. An edit replaces text at positions
// from the syntax tree. Its result is verified: parsed, it must equal the old file with just that change. Everything
// else stays unchanged, byte for byte.
//
// A file that does not parse is never changed. Errors, notes and diffs never contain values of env and headers
// (except the name of an unsupported variable), or text of other parts of the file. Size, depth and number of values
// are limited before parsing. The package has no state and writes no files. Its functions may be called concurrently.
package desktop
