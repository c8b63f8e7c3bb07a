// Package interop tests the gateway with third-party MCP software:
//
//	npm       server-everything (stdio, Streamable HTTP, HTTP+SSE), server-filesystem and server-memory;
//	          the inspector's command line as client; oidc-provider as authorization server
//	SDKs      TypeScript 2, go-sdk and mcp-go, as clients and as servers; TypeScript 1, as client
//	Python    the SDKs 1 and 2, FastMCP 2, 3 and 4, as clients and as servers, over every transport they have
//	Java      the SDK, as client and as server; make interop-java builds and runs it
//	Rust      the SDK, as client and as server, in both eras; make interop-rust builds and runs it
//
// The gateway runs as the real binary. The Go SDKs' clients and some of their servers run in the test process, and all
// other peers as processes of their own. The npm packages are pinned in package-lock.json and fetched by `make test`.
// Without Node or the packages, the tests that need them are skipped, or fail with CI=true.
//
// With -balancer, the gateway is a cluster of three behind nginx or haproxy. Node a runs the servers that are commands or keep state.
package interop
