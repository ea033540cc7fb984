package widget

import "testing"

func TestWidget(t *testing.T) {
	s := newStand(t)
	for name, test := range map[string]func(*testing.T, *stand){
		"Opening": testOpening, "Search": testSearch, "Ask": testAsk, "Errors": testErrors,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}
