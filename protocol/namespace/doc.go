// Package namespace maps the names of one server's tools, prompts and resources into the names that clients see, and
// back: slugs of server names, prefixed tool names, prefixed URIs, underscore ids and URI templates.
//
// All functions are pure. They do not read messages. The catalog, not this package, knows which server owns a name.
//
//	namespace.PublicName("files", "_", "read_file", 64)    // files_read_file
//	namespace.PrefixURI("files", "file:///logs/app.log")   // resource://files/file:///logs/app.log
//	namespace.UnderscoreID("files", "file:///logs/app.log") // files_file___logs_app.log
package namespace
