package reach

import (
	"context"
	"net/http"
	"net/url"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// AtAPI notes that a request has reached the API, for those inside the process
// that want to know.
func AtAPI(r *http.Request) {
	if reached, ok := r.Context().Value(atAPI).(*bool); ok {
		*reached = true
	}
}

// Post sends an empty POST request without a key to a path of the API, and
// returns whether the API answered, and the status of the answer: 0 if no
// handler answered.
func (rs *Routes) Post(ctx context.Context, server *caddyhttp.Server, host, path string) (reached bool, status int, err error) {
	in, err := newInside(rs, server, host)
	if err != nil {
		return false, 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, atAPI, &reached), insideTimeout)
	defer cancel()
	w, err := in.once(ctx, http.MethodPost, &url.URL{Path: path}, stranger, nil)
	if err != nil {
		return false, 0, err
	}
	return reached, w.status, nil
}

// Prepared returns a request like that of Post, to try matchers with.
func Prepared(ctx context.Context, server *caddyhttp.Server, host, path string) *http.Request {
	in := &inside{server: server, scheme: scheme(server), host: host}
	return in.request(ctx, http.MethodPost, &url.URL{Path: path}, stranger, &response{header: make(http.Header)})
}
