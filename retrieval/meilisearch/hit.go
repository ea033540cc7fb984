package meilisearch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/encoding/rawjson"
)

// result is what a server found for one request.
type result struct {
	hits     []hit
	semantic bool
}

// hit is a section that a server found. Most are only ranked: of their JSON,
// just what that needs is decoded.
type hit struct {
	raw               []byte
	page              string
	section           int
	counts, embedding []byte
	details           []byte // JSON
}

// member returns a member of an object, nil if it has none.
func member(object []byte, name string) []byte {
	for key, value := range rawjson.Members(object) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// hitsOf returns the hits of an array. The section of one without a place is
// below 0.
func hitsOf(array []byte) (hits []hit) {
	for raw := range rawjson.Elements(array) {
		h := hit{raw: raw, section: -1}
		for key, value := range rawjson.Members(raw) {
			switch string(key) {
			case "page":
				h.page = textOf(value)
			case "section":
				h.section = -1
				if n, err := strconv.Atoi(string(value)); err == nil {
					h.section = n
				}
			case "counts":
				h.counts = bytesOf(value)
			case "embedding":
				h.embedding = bytesOf(value)
			case "_rankingScoreDetails":
				h.details = value
			}
		}
		hits = append(hits, h)
	}
	return hits
}

// record decodes all of a hit.
func (h *hit) record() (*record, error) {
	var r record
	err := json.Unmarshal(h.raw, &r)
	return &r, err
}

// textOf returns a string, "" for any other value.
func textOf(value []byte) (s string) {
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : n-1])
	}
	_ = json.Unmarshal(value, &s)
	return s
}

// bytesOf returns the bytes that a string has in base64, nil for any other
// value.
func bytesOf(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	out, err := base64.StdEncoding.DecodeString(textOf(value))
	if err != nil {
		return nil
	}
	return out
}
