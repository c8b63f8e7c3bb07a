// Package conformance tests the gateway with the official MCP conformance suites:
//
//	direct                        the suite against the project's fixture (directory fixture): tests the fixture
//	legacy-*, modern-*            the suite through the gateway, with the fixture in that era as its server, over stdio and HTTP
//	gosdk-*                       the same with the everything-server of the official Go SDK
//	client-legacy, client-modern  the suite's own servers through the gateway, with a driver of that era as client: tests the gateway as a client
//	bridge-*                      only with -bridge, which replaces the legs above except client-*: the fixture through goblin-actor stdio --connect
//
// The legs run in both pinned versions of the suite and in every protocol version that the suite has scenarios for,
// with exceptions: legacy servers lack the extension tasks, the legs gosdk-* run only the newer suite, in 2025-11-25
// and 2026-07-28, and the legs bridge-* omit some versions. baseline.yaml lists the scenarios that do not pass, each with its reason. Every difference
// fails the test, including a listed scenario that passes. The log contains the matrix of results:
//
//	make conformance
//
// With -balancer, the legs legacy-*, modern-* and gosdk-* run through a cluster of three gateways behind nginx or haproxy, with the same
// baseline.
//
// The driver is the test binary itself: the suite starts it for each scenario with MCP_CONFORMANCE_SCENARIO in its
// environment. Without the npm packages the test is skipped, or fails with CI=true.
package conformance
