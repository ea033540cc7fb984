package ingest

import "testing"

func TestCodeAndImagesAreMarked(t *testing.T) {
	for _, c := range []struct{ name, file, in, text, marked string }{
		{
			"Markdown", "a.md", "# A\n\nRun `sudo caddy trust` or **`x y`**, [`z`](z.md).\n\n![The map](m.png)\n\n- Set `a | b`.\n- `c`",
			"Run sudo caddy trust or x y, z.\n\nThe map\n\n- Set a | b.\n- c",
			"Run `sudo caddy trust` or `x y`, `z`.\n\n\n\n- Set `a | b`.\n- `c`",
		},
		{
			"an image in a sentence is part of it", "a.md", "# A\n\nClick ![Save](s.png) to go on.",
			"Click Save to go on.", "Click Save to go on.",
		},
		{
			"a table", "a.md", "# A\n\n| word | meaning |\n|---|---|\n| `on` | Uses `x`. |",
			"word | meaning\non | Uses x.", "word | meaning\n`on` | Uses `x`.",
		},
		{
			"HTML", "a.html", "<main><h1>A</h1><p> <code> HashMap&lt;K, V&gt; </code> is <samp>ok</samp>.<p><img alt=Badge> <img alt=Other><p>Then</main>",
			"HashMap<K, V> is ok.\n\nBadge Other\n\nThen", "`HashMap<K, V>` is `ok`.\n\n\n\nThen",
		},
	} {
		in := New(Options{URL: "https://docs.acme.com"})
		d, _, err := in.Document(c.file, []byte(c.in))
		if err != nil || len(d.Sections) != 1 {
			t.Fatalf("%s: %v %+v", c.name, err, d)
		}
		s := &d.Sections[0]
		if s.Text != c.text || s.Marked() != c.marked {
			t.Errorf("%s:\ngot  %q\nand  %q\nwant %q\nand  %q", c.name, s.Text, s.Marked(), c.text, c.marked)
		}
	}
}
