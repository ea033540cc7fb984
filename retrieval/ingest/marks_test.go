package ingest

import "testing"

func TestCodeImagesAndLinksAreMarked(t *testing.T) {
	for _, c := range []struct{ name, file, in, text, marked string }{
		{
			"Markdown", "a.md", "# A\n\nRun `sudo caddy trust` or **`x y`**, [`z`](z.md).\n\n![The map](m.png)\n\n- Set `a | b`.\n- `c`",
			"Run sudo caddy trust or x y, z.\n\nThe map\n\n- Set a | b.\n- c",
			"Run `sudo caddy trust` or `x y`, [`z`](z).\n\n\n\n- Set `a | b`.\n- `c`",
		},
		{
			"links to the site's pages", "a/b.md", "# A\n\nSee [the *keys*](../keys.md#new), [us](https://acme.com/), [there](#x), [![K](k.png)](k.md) and [a \\[b\\]](c.md).\n\n| [c](c.md) |\n|---|\n| [d](/d/) `e` |",
			"See the keys, us, there, K and a [b].\n\nc\nd e",
			"See [the keys](keys#new), us, [there](a/b#x), [K](a/k) and a [b].\n\n[c](a/c)\n[d](d) `e`",
		},
		{
			"links of HTML", "a.html", "<main><h1><a href=b>A</a></h1><p> <a href=c><code>c</code></a>, <code><a href=d>d</a></code>, <code><a href=d>d</a> <a href=e>e</a></code>.<ul><li><a href=f>f</a></ul></main>",
			"c, d, d e.\n\n- f", "[`c`](c), [`d`](d), `d e`.\n\n- [f](f)",
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
		marked := s.Marked(func(link int) string {
			l := d.Links[link]
			if l.Anchor != "" {
				return l.Page + "#" + l.Anchor
			}
			return l.Page
		})
		if s.Text != c.text || marked != c.marked {
			t.Errorf("%s:\ngot  %q\nand  %q\nwant %q\nand  %q", c.name, s.Text, marked, c.text, c.marked)
		}
	}
}
