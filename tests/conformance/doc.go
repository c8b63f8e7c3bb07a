// Package conformance holds the gateway against the official MCP conformance suites. It holds tests only:
//
//	direct                        the suite against our own fixture, `goblin-actor demo conformance`: proves the fixture
//	legacy-*, modern-*            the suite through the gateway, with the fixture of that era behind it, by stdio and http
//	gosdk-*                       the same with the everything-server of the official Go SDK behind it
//	client-legacy, client-modern  the suite's own servers behind the gateway, with a driver of that era as its client: proves the side towards servers
//
// Each is run in both pinned versions of the suite and in every protocol version the suite knows scenarios for.
// baseline.yaml lists the scenarios that do not pass, each with its reason; whatever differs from it fails the test,
// a scenario that passes although it is listed included. The matrix of results is in the log:
//
//	make conformance
//
// The driver is this test binary itself: the suite starts it once a scenario with MCP_CONFORMANCE_SCENARIO in its
// environment. Without the npm packages the test is skipped and says so; with CI=true it fails.
package conformance
