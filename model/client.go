package model

import (
	"net"
	"net/http"
	"time"
)

// newClient returns the client for Options without one. It bounds everything
// except the length of a reply.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    5 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    2048, // a stream over HTTP/1.1 has a connection to itself
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a compressed stream arrives in blocks
	}}
}
