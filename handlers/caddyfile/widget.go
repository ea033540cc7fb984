package caddyfile

// directiveWidget serves the widget apart from the rest of docs.
const directiveWidget = "docs_widget"

// widgetWord is the word widget of the directive docs.
func (s *settings) widgetWord() word {
	return word{
		name: "widget", field: "inject",
		forms: []form{{args: "inject|on|off", example: "inject", block: s.widgetWords()}},
		parse: func(l line) error {
			mode, err := l.one()
			if err != nil {
				return err
			}
			switch mode {
			case "inject":
				s.widget.Inject = true
			case "on":
			case "off":
				s.off = append(s.off, apiWidget)
				return nil // without a block
			default:
				return l.refuse("%q must be inject, on or off", mode)
			}
			return parseBlock(l, "widget", s.widgetWords(), s.widget.Validate)
		},
	}
}

// injectWord is the word inject of the directive docs_widget.
func (s *settings) injectWord() word {
	return word{name: "inject", forms: is("[on|off]", "on"), parse: func(l line) error {
		args, err := l.between(0, 1)
		s.widget.Inject = true
		if err == nil && len(args) == 1 {
			s.widget.Inject, err = l.isOn(args[0])
		}
		return err
	}}
}

func (s *settings) widgetWords() []word {
	w := &s.widget
	return []word{
		textWord("position", "bottom-right|bottom-left|none|<selector>", "bottom-left", &w.Position),
		textWord("replace", "on|off", "off", &w.Replace),
		textWord("accent", "<color>", `"#0a7"`, &w.Accent),
		textWord("theme", "auto|light|dark|<attribute>", "[data-theme=dark]", &w.Theme),
		textWord("shortcut", "<keys>|off", "mod+k", &w.Shortcut),
		textWord("placeholder", "<text>", `"Search the docs"`, &w.Placeholder),
		textWord("title", "<text>", `"Acme docs"`, &w.Title),
		listWord("features", "search|ask|feedback|page_feedback|page_menu...", "search ask", &w.Features),
		pairWord("strings", "strings", "<language> <file>", "de ./widget.de.json", &w.Strings),
		textWord("conversations", "session|local|off", "local", &w.Conversations),
		listWord("starters", "<question>...", `"How do I install it?"`, &w.Starters),
		textWord("events", "plain|text", "text", &w.Events),
	}
}
