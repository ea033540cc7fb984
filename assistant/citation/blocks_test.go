package citation

import (
	"strings"
	"testing"
)

// Where a code block begins and ends is CommonMark's: see its section on
// fenced code blocks. In a block the link stays as it is, in text it becomes
// its text.
func TestFencesAreCommonMarks(t *testing.T) {
	j := newJudge(t)
	const link = "[x](https://evil.net)"
	for _, c := range []struct {
		name, before string
		code         bool // what follows is code
	}{
		{"a fence of backticks opens", "```\n", true},
		{"a fence of tildes opens", "~~~\n", true},
		{"two backticks are no fence", "``\n", false},
		{"an info string may follow", "```sh copy\n", true},
		{"an info string of a backtick fence holds no backtick", "```a`b\n", false},
		{"an info string of a tilde fence may hold backticks", "~~~a`b\n", true},
		{"three spaces may come before it", "   ```\n", true},
		{"four spaces may not", "text\n    ```\n", false},
		{"the same fence closes", "```\ncode\n```\n", false},
		{"a longer fence closes", "```\ncode\n`````\n", false},
		{"a very long fence closes", "```\ncode\n" + strings.Repeat("`", maxHold+100) + "\n", false},
		{"a shorter fence doesn't close", "````\ncode\n```\n", true},
		{"the other character doesn't close", "```\ncode\n~~~\n", true},
		{"spaces behind a closing fence are allowed", "```\ncode\n```  \n", false},
		{"a tab behind a closing fence is allowed", "```\ncode\n```\t\n", false},
		{"text behind a fence makes it code", "```\ncode\n``` text\n", true},
		{"an info string never closes", "```\ncode\n```sh\n", true},
		{"a character behind a fence makes it code", "~~~\ncode\n~~~.\n", true},
		{"a closing fence may be indented by three spaces", "```\ncode\n   ```\n", false},
		{"but not by four", "```\ncode\n    ```\n", true},
		{"an empty line doesn't close", "```\ncode\n\n", true},
		{"a quote's end closes its fence", "> ```\n> code\n\n", false},
		{"a quote's fence continues in it", "> ```\n> code\n> ", true},
		{"a list item's end closes its fence", "- ```\n  code\n\n", false},
		{"a list item's fence continues in it", "- ```\n  code\n  ", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.before + "x\n"
			if c.code {
				want = c.before + link + "\n"
			}
			for _, size := range []int{1, 3, 100} {
				got, _ := checked(c.before+link+"\n", func() int { return size })
				j.judge(t, shown{c.before, got})
				if size == 1 && !strings.HasPrefix(got, strings.TrimRight(want, "\n")) {
					t.Errorf("\ngot  %q\nwant %q", got, want)
				}
			}
		})
	}
}

// The steps' texts are safe shown by themselves and as one.
func TestTextsOfSeveralStepsAreSafeAsOne(t *testing.T) {
	j := newJudge(t)
	for _, c := range []struct{ first, second, want string }{
		{"Let me look. ", "~~~\n[x](https://evil.net)\n~~~", "~~~\n[x](https://evil.net)\n~~~"},
		{"```\ncode", "```\n[x](https://evil.net)", "```\n[x](https://evil.net)\n```"},
		{"- item", "  ```\n[x](https://evil.net)", "  ```\nx"},
		{"[x](https://evil", ".net) here", ".net) here"},
	} {
		k := NewChecker(acme())
		first := string(k.End(k.Append(nil, []byte(c.first))))
		second := string(k.End(k.Append(nil, []byte(c.second))))
		if second != c.want {
			t.Errorf("%q after %q: %q, want %q", c.second, c.first, second, c.want)
		}
		j.judge(t, shown{c.first, first}, shown{c.second, second}, shown{c.first + c.second, first + "\n\n" + second})
	}
}
