// Package load provides the clients of measurements.
//
//   - Target and Measure: closed loops that compare every response with the expected bytes
//   - Probes: clients that call at a constant rate and record every call, including failures
//   - Audience: subscribers that wait for the same change
//   - Dealt and MeasureDealt: closed loops whose requests go to the nodes of a cluster in turn
//   - Endpoint, Caller and Crowd: clients of any MCP endpoint, whose responses are not known in advance
package load
