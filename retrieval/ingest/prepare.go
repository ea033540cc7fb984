package ingest

// prepare rewrites what CommonMark does not know into what it does.
func prepare(src []byte, mdx bool) ([]byte, bool) { return src, false }
