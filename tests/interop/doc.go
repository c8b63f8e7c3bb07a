// Package interop tests the gateway with third-party MCP software:
//
//	servers   npm server-everything (stdio, streamable HTTP, HTTP+SSE), server-filesystem, server-memory; HTTP+SSE servers of both Go SDKs
//	clients   the TypeScript SDK, the official go-sdk, mcp-go, each over HTTP and over stdio; the inspector's command line
//	Python    the SDKs 1 and 2, FastMCP 2, 3 and 4, as clients and as servers, over every transport they have
//	Java      the SDK, as client and as server; make interop-java builds and runs it
//	Rust      the SDK, as client and as server, in both eras; make interop-rust builds and runs it
//
// All peers run as processes around the real binary. The npm packages are pinned in package-lock.json and fetched by
// `make test`. Without Node or the packages, the tests that need them are skipped, or fail with CI=true.
package interop
