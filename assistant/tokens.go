package assistant

// Tokens estimates the tokens of a text by its script: within 15 % of what a
// vocabulary of 100,000 words counts for prose and code.
func Tokens[T ~string | ~[]byte](text T) int {
	n := 0
	for _, r := range string(text) {
		n += weight(r)
	}
	return (n + 99) / 100
}

// weight is a character's share of a token, in hundredths.
func weight(r rune) int {
	switch {
	case r <= ' ':
		return 0
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		return 26 // words of four letters are tokens, with the space before them
	case r < 0x80:
		return 65
	case r < 0x370:
		return 150 // a letter with an accent splits its word
	case r < 0x600:
		return 43 // Greek, Cyrillic
	case r >= 0x3100 && r < 0xA000:
		return 88 // Chinese characters
	}
	return 100
}

// clipTokens returns the beginning of a text that has at most so many tokens.
func clipTokens(text string, most int) string {
	n := 0
	for i, r := range text {
		if n += weight(r); n > 100*most {
			return text[:i]
		}
	}
	return text
}
