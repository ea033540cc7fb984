package app

import (
	"fmt"
	"sync/atomic"
)

// refusedWidget is a page that can't have the widget.
type refusedWidget struct{ page, directive string }

// widgetState is what doctor says about the widget of a site.
type widgetState struct{ refused atomic.Pointer[refusedWidget] }

// WidgetRefused notes that the Content-Security-Policy of a page refuses the
// widget.
func (r *LiveSite) WidgetRefused(page, directive string) {
	if r.widget.refused.Load() == nil {
		r.widget.refused.Store(&refusedWidget{page, directive})
	}
}

// checkWidget reports a page that can't have the widget.
func (r *LiveSite) checkWidget(c *checks) {
	if w := r.widget.refused.Load(); w != nil {
		c.add("site "+r.Name+" widget", fmt.Errorf("the Content-Security-Policy of %s refuses it: %s", w.page, w.directive), "",
			"add 'self' to script-src and connect-src of that policy (and remove 'strict-dynamic'), or put a tag with its nonce into the pages; see the manual's page Widget")
	}
}
