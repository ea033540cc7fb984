package citation

import (
	"bytes"
	"slices"
	"strings"
)

// joint reads a character inside a word that makes the word a link for some
// renderers: a URL behind a letter or digit, //host, a host's name, an e-mail
// address. It is written so that none of them sees a link.
func (n *inline) joint(s []byte, whole, full bool) (used int) {
	switch s[0] {
	case '.':
		return n.dot(s, whole)
	case '@':
		return n.at(s, whole, full)
	case '/':
		if n.last() == '/' { // markdown-it links //host
			n.put('\\')
		}
	case ':': // micromark links 1https://host, marked xhttps://host, too
		if !n.endsWord("http", "https", "ftp") {
			break
		}
		if rest := bytes.ReplaceAll(s[1:], []byte(`\`), nil); len(rest) < 2 && !whole && !full && !bytes.ContainsAny(s[1:], " \t") {
			return 0
		} else if bytes.HasPrefix(rest, []byte("//")) {
			n.put(':')
			used = 1 + leading(s[1:], `/\`)
			if used == len(s) && !whole && !full {
				// More slashes may follow.
				n.line = n.line[:len(n.line)-1]
				return 0
			}
			return used
		}
	}
	n.put(s[0])
	return 1
}

// endsWord reports whether the line ends in one of the words, in any case.
func (n *inline) endsWord(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		from := len(n.line) - len(w)
		return from >= 0 && strings.EqualFold(string(n.line[from:]), w)
	})
}

// dot keeps apart what looks like a host to markdown-it ("install.sh"), and
// like "www." to marked. It waits for the word behind the dot.
func (n *inline) dot(s []byte, whole bool) (used int) {
	if n.endsWord("www") {
		n.puts(`\.`)
		return 1
	}
	if n.inLink || !isAlnum(n.last()) && n.last() < 0x80 {
		n.put('.')
		return 1
	}
	end := 1
	for end < len(s) && end <= longestDomain && s[end] != '\\' && (s[end] >= 0x80 || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	if end == len(s) && !whole && end <= longestDomain {
		return 0
	}
	if isLinkedDomain(strings.ToLower(string(s[1:end]))) {
		n.put('\\')
	}
	n.put('.')
	return 1
}

// The top-level domains that markdown-it knows by itself: whole, and of two
// letters by the first.
const (
	domains   = " biz com edu gov net org pro web xxx aero asia coop info museum name shop рф "
	countries = " a:cdefgilmnoqrstuwxz b:abdefghijmnorstvwyz c:acdfghiklmnoruvwxyz d:ejkmoz e:cegrstu f:ijkmor g:abdefghilmnpqrstuwy h:kmnrtu i:delmnoqrst j:emop k:eghimnprwyz l:abcikrstuvy m:acdeghklmnopqrstuvwxyz n:acefgilopruz o:m p:aefghklmnrstwy q:a r:eosuw s:abcdeghijklmnortuvxyz t:cdfghjklmnortvwz u:agksyz v:aceginu w:fs y:et z:amw "
)

func isLinkedDomain(name string) bool {
	if len(name) != 2 {
		return name != "" && strings.Contains(domains, " "+name+" ")
	}
	_, seconds, _ := strings.Cut(countries, " "+name[:1]+":")
	seconds, _, _ = strings.Cut(seconds, " ")
	return strings.IndexByte(seconds, name[1]) >= 0
}

const (
	longestDomain = 6
	longestJoint  = 16 // how much of the line before a character makes it one
)

// plainAt reports whether name is no host behind an "@", as in nDCG@10: it has
// no dot, nothing before the word makes it a URL, and nothing behind it can join
// it, such as a tag that is left out.
func plainAt(before, name, behind []byte) bool {
	if len(before) > 0 && strings.IndexByte(" \t(*|\"", before[len(before)-1]) < 0 {
		return false
	}
	if slices.ContainsFunc(name, func(b byte) bool { return !isAlnum(b) }) {
		return false
	}
	if rest, dot := bytes.CutPrefix(behind, []byte(".")); dot {
		return len(rest) == 0 || isSpace(rest[0])
	}
	return len(behind) == 0 || strings.IndexByte(" \t,;:!?)*|\"", behind[0]) >= 0
}

// isLocal reports whether a byte may be before the "@" of an e-mail address.
func isLocal(b byte) bool { return b > ' ' && strings.IndexByte("\"(),:;<>@[]", b) < 0 }

// at reads the "@" of what may be an e-mail address, which all renderers link.
func (n *inline) at(s []byte, whole, full bool) (used int) {
	from := len(n.line)
	for from > 0 && isLocal(n.line[from-1]) {
		from--
	}
	if from == len(n.line) {
		n.put('@')
		return 1
	}
	end := 1
	for end < len(s) && (isAlnum(s[end]) || s[end] == '\\' || s[end] >= 0x80 || strings.IndexByte(".-_", s[end]) >= 0) {
		end++
	}
	if end == len(s) && !whole && !full {
		return 0
	}
	for end > 1 && strings.IndexByte(".-_", s[end-1]) >= 0 {
		end--
	}
	host := strings.ReplaceAll(string(s[:end]), `\`, "")
	if !full && plainAt(n.line[:from], s[1:end], s[end:]) {
		n.puts(host)
		return end
	}
	switch address := strings.ReplaceAll(string(n.line[from:])+host, `\`, ""); {
	case end == 1:
		n.put('@')
	case "mailto:"+address == n.check.site.SupportURL && !n.inLink:
		n.puts(host)
	case n.unsure || n.inLink:
		n.puts("@ ")
		n.inner([]byte(plainURL(host[1:])), n.inLink)
	default:
		n.puts("@`" + host[1:] + "`")
		n.dropped = true
	}
	return end
}
