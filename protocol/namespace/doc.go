// Package namespace maps the names of one server's tools, prompts and resources into the names that clients see, and
// back: slugs of server names, prefixed tool names, prefixed URIs, underscore ids and URI templates.
//
// All functions are pure. They know nothing of messages; which server owns a name is the catalog's knowledge.
//
//	namespace.PublicName("files", "_", "read_file", 64)    // files_read_file
//	namespace.PrefixURI("files", "file:///logs/app.log")   // resource://files/file:///logs/app.log
//	namespace.UnderscoreID("files", "file:///logs/app.log") // files_file___logs_app.log
package namespace
