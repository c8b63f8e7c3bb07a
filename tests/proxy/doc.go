// Package proxy puts the gateway behind proxies that others have written: who asks is found out for each request, however many users share
// one connection. It is tests only.
package proxy
