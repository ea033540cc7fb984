package site

// refusedWidget is a page that can't have the widget.
type refusedWidget struct{ page, directive string }

// WidgetRefused notes that the Content-Security-Policy of a page refuses the
// widget.
func (r *Site) WidgetRefused(page, directive string) {
	if r.widget.Load() == nil {
		r.widget.Store(&refusedWidget{page, directive})
	}
}

// RefusedWidget returns a page that can't have the widget, and the directive of
// its policy that refuses it; "" if none is known.
func (r *Site) RefusedWidget() (page, directive string) {
	if w := r.widget.Load(); w != nil {
		return w.page, w.directive
	}
	return "", ""
}
