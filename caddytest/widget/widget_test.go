package widget

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

func TestWidget(t *testing.T) {
	s := newStand(t)
	s.on("How do I install", modelserver.Reply{Text: longAnswer})
	s.on("breaks off", modelserver.Reply{Text: "These words stay. Then nothing.", Fault: modelserver.Cut, After: 3})
	for name, test := range map[string]func(*testing.T, *stand){
		"Opening": testOpening, "Search": testSearch, "Ask": testAsk, "Errors": testErrors, "Looks": testLooks, "Hostile answers": testHostile,
		"Code and links": testMarkdown, "Finished blocks": testRenderer,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}
