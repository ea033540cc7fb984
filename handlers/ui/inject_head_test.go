package ui

import "testing"

func TestTheHeadOfAPageEndsWhereItsBodyBegins(t *testing.T) {
	const doc = "<!doctype html><title>A</title>"
	for page, want := range map[string]struct {
		tag, body string // what begins there, "-" for nothing
		more      bool
	}{
		doc + "</head><body>x":                    {"</head>", "x", false},
		doc + "</head> <!-- c -->\n<body id=b>x":  {"</head>", "x", false},
		doc + "<body>x":                           {"<body>", "x", false},
		doc + "</head><p>x":                       {"</head>", "-", false},
		doc + "</head>text<body>x":                {"</head>", "-", false},
		doc + "<p>x<body>y":                       {"<p>", "-", false},
		doc + "</head>":                           {"</head>", "-", true}, // a body may follow
		doc + "</head>\n<bo":                      {"</head>", "-", true},
		doc + "</head></head><title>B</title><p>": {"</head>", "-", false},
	} {
		head := readHead([]byte(page), false)
		body := "-"
		if head.body > 0 {
			body = page[head.body:min(len(page), head.body+len(want.body))]
		}
		if head.at < 0 || page[head.at:min(len(page), head.at+len(want.tag))] != want.tag || body != want.body || head.more != want.more {
			t.Errorf("%s: %+v, want %+v", page, head, want)
		}
	}
	if head := readHead([]byte(doc+"</head>"), true); head.more || head.at < 0 {
		t.Errorf("a whole page: %+v", head)
	}
}
