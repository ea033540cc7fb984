package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A generated site is like documentation to a search engine: function words
// are as frequent as in English prose, the vocabulary follows Zipf's law and
// grows with the site, and pages have a topic, headings from it, identifiers,
// code, and links to other pages. Sites of equal size are equal.

// functionWords are English's most frequent words, by rank.
var functionWords = strings.Fields(`the to a of and is in for you that it this
	with be can are or on as if from by when your not an will use at which one
	all any has have how do what each other into only more must then there
	they may used using same no so but also than where while before after
	without between its these does should was were`)

// docWords are words of documentation. Content words are made of them and of
// syllables, because a large site's vocabulary is longer than any list.
var docWords = strings.Fields(`server request configuration file option value
	default key client module handler response user path name type data
	directory field header version cache log error route command plugin
	certificate domain port address token limit connection index query
	install update deploy build start stop reload enable disable create
	remove delete access permission policy schema record storage backup
	network proxy timeout retry worker queue event message template variable
	function parameter argument result list object string number boolean
	interface method class package library release upgrade migration cluster
	node service container image volume secret environment session cookie
	origin redirect rewrite match rule filter pattern format encoding
	compression stream buffer memory thread process signal metric trace
	monitor alert dashboard report export import sync replica shard`)

var syllables = strings.Fields(`ra ver lo ta min se cor di pel na tu gri mo
	stan fi bre ul ka ten dor vi sca len po rid ma fer go lin hu bar ce ton
	wi que al ne sol ju per xi dal zo ment ar cli es vo tri`)

var suffixes = []string{"", "", "", "s", "s", "ing", "ed", "er", "ion", "able"}

// corpus generates a site.
type corpus struct {
	rnd    *rand.Rand
	vocab  []string
	common *rand.Zipf
	words  *rand.Zipf
}

// sectionsAPage is the number of sections of a generated page.
const sectionsAPage = 10

func newCorpus(sections int) *corpus {
	r := rand.New(rand.NewPCG(20251120, uint64(sections)))
	c := &corpus{rnd: r}
	// Heaps' law with the constants of technical prose.
	n := int(30 * math.Pow(float64(sections)*150, .45))
	seen := map[string]bool{}
	for i := 0; len(c.vocab) < n; i++ {
		w := ""
		if i < len(docWords) {
			w = docWords[i]
		} else {
			for range 2 + r.IntN(3) {
				w += syllables[r.IntN(len(syllables))]
			}
		}
		if !seen[w] {
			seen[w] = true
			c.vocab = append(c.vocab, w)
		}
	}
	c.common = rand.NewZipf(r, 1.05, 2, uint64(len(functionWords)-1))
	c.words = rand.NewZipf(r, 1.1, 12, uint64(len(c.vocab)-1))
	return c
}

func (c *corpus) one(list []string) string { return list[c.rnd.IntN(len(list))] }

// topic is the topic of a page.
type topic struct{ words, names []string }

func (c *corpus) topic(page int) *topic {
	t := &topic{}
	for range 25 {
		t.words = append(t.words, c.vocab[c.rnd.IntN(len(c.vocab))])
	}
	for i := range 6 {
		a, b := c.one(t.words), c.one(t.words)
		switch i % 3 {
		case 0:
			t.names = append(t.names, a+"_"+b)
		case 1:
			t.names = append(t.names, a+strings.ToUpper(b[:1])+b[1:])
		case 2:
			t.names = append(t.names, "--"+a+"-"+b)
		}
	}
	return t
}

// word of a sentence.
func (c *corpus) word(t *topic) string {
	switch x := c.rnd.Float64(); {
	case x < .45:
		return functionWords[c.common.Uint64()]
	case x < .62:
		return c.one(t.words) + c.one(suffixes)
	case x < .65:
		return "`" + c.one(t.names) + "`"
	}
	return c.vocab[c.words.Uint64()] + c.one(suffixes)
}

func (c *corpus) sentence(b *strings.Builder, t *topic) {
	for i := range 7 + c.rnd.IntN(16) {
		w := c.word(t)
		if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteString(". ")
}

func (c *corpus) title(t *topic) string {
	w := []string{c.one(t.words), c.one(t.words)}
	if c.rnd.IntN(2) == 0 {
		w = append(w, c.one(docWords))
	}
	s := strings.Join(w, " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// question returns a question about a section: function words, the section's
// topic, and sometimes a name or a typo.
func (c *corpus) question(t *topic, heading string) string {
	h := strings.ToLower(c.one(strings.Fields(heading)))
	w := c.one(t.words)
	if c.rnd.IntN(10) == 0 && len(w) > 5 {
		i := 1 + c.rnd.IntN(len(w)-2)
		w = w[:i] + w[i+1:]
	}
	switch c.rnd.IntN(6) {
	case 0:
		return "how do I use " + c.one(t.names) + " with the " + h
	case 1:
		return "what does the " + h + " do when a " + w + " is not set?"
	case 2:
		return "how can I " + c.one(docWords) + " the " + h + " of a " + w
	case 3:
		return "is it possible to have more than one " + w + " in a " + h
	case 4:
		return "where is the " + w + " " + c.one(docWords) + " configured"
	}
	return "why does the " + h + " fail after an update of " + w + " " + c.one(t.words)
}

// write writes the site's files below dir and returns questions about it.
func (c *corpus) write(dir string, sections, questions int) ([]string, error) {
	pages := (sections + sectionsAPage - 1) / sectionsAPage
	var asked []string
	for p := range pages {
		t := c.topic(p)
		var b strings.Builder
		title := c.title(t)
		fmt.Fprintf(&b, "---\ntitle: %s\ndescription: %s and %s.\n---\n\n", title, c.one(t.words), c.one(t.words))
		for s := range min(sectionsAPage, sections-p*sectionsAPage) {
			heading := c.title(t)
			if s == 0 {
				fmt.Fprintf(&b, "# %s\n\n", title)
			} else {
				fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", 2+c.rnd.IntN(2)), heading)
			}
			for range 2 + c.rnd.IntN(3) {
				for range 2 + c.rnd.IntN(3) {
					c.sentence(&b, t)
				}
				b.WriteString("\n\n")
			}
			switch c.rnd.IntN(4) {
			case 0:
				fmt.Fprintf(&b, "```yaml\n%s:\n  %s: %d\n  %s: %q\n```\n\n", c.one(t.names), c.one(t.words), c.rnd.IntN(5000), c.one(t.words), c.one(t.names))
			case 1:
				fmt.Fprintf(&b, "See [%s](../%s.md) for more.\n\n", c.one(t.words), pageName(c.rnd.IntN(pages)))
			case 2:
				for range 3 {
					fmt.Fprintf(&b, "- `%s`: %s %s\n", c.one(t.names), c.one(t.words), c.one(docWords))
				}
				b.WriteByte('\n')
			}
			if c.rnd.IntN(sections) < questions*2 && len(asked) < questions {
				asked = append(asked, c.question(t, heading))
			}
		}
		file := filepath.Join(dir, pageName(p)+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			return nil, err
		}
	}
	return asked, nil
}

func pageName(p int) string { return fmt.Sprintf("part-%02d/page-%04d", p%40, p) }

// siteSize is the number of sections of the site that most benchmarks use.
func (b *bench) siteSize() int {
	if b.short {
		return 1000
	}
	return 10000
}

// generated returns the directory of the site of a size, and its questions.
func (b *bench) generated(sections int) (root string, questions []string, err error) {
	root = filepath.Join(b.dir, fmt.Sprintf("site-%d", sections))
	list := root + ".json"
	if old, err := os.ReadFile(list); err == nil {
		return root, questions, json.Unmarshal(old, &questions)
	}
	questions, err = newCorpus(sections).write(root, sections, 300)
	if err != nil {
		return "", nil, err
	}
	return root, questions, os.WriteFile(list, jsonOf(questions), 0o600)
}

// readQueries reads a file of queries: JSON lines with "query", or plain lines.
func readQueries(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	in := bufio.NewScanner(f)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		var q struct{ Query string }
		if json.Unmarshal([]byte(line), &q) == nil && q.Query != "" {
			line = q.Query
		}
		if line != "" {
			out = append(out, line)
		}
	}
	if len(out) == 0 && in.Err() == nil {
		return nil, fmt.Errorf("no queries in %s", file)
	}
	return out, in.Err()
}
