// Package proxy tests the gateway behind third-party proxies: each request is authenticated by itself, even if several
// users share a connection. It also tests servers whose replicas are behind a load balancer.
package proxy
