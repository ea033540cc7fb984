package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Query is one line of a file of queries.
type Query struct {
	// ID names the query in judgements and runs.
	ID string `json:"id"`
	// Text is the search.
	Text string `json:"text"`
	// Group is what results are broken down by; "" is also a group.
	Group string `json:"group,omitempty"`
	// Relevant are the pages that the query should find, if the file of
	// queries has judgements.
	Relevant []string `json:"relevant,omitempty"`
}

// Qrels are the judgements: query id → page → grade, 1 and more is relevant.
type Qrels map[string]map[string]int

// Run is the output of a search: query id → paths, best first.
type Run map[string][]string

// maxLine bounds a line of an input file.
const maxLine = 1 << 20

func lines(r io.Reader, each func(n int, line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := each(n, line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// items reads a file of JSON objects, one a line, with unique ids. Without "id",
// the id is the line's number. kind and example are for errors, which name the
// line; fields returns a pointer to the id, and the text, which is in the field
// of that name.
func items[T any](r io.Reader, kind, name, example string, fields func(*T) (id *string, text string, err error)) (out []T, err error) {
	seen := map[string]int{}
	err = lines(r, func(n int, line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("not a %s: %w; write %s", kind, err, example)
		}
		id, text, err := fields(&v)
		*id = cmp.Or(*id, strconv.Itoa(n))
		switch {
		case strings.TrimSpace(text) == "":
			return fmt.Errorf("%s %q has no %q", kind, *id, name)
		case err != nil:
			return fmt.Errorf("%s %q: %w", kind, *id, err)
		case seen[*id] > 0:
			return fmt.Errorf("%s %q was already on line %d", kind, *id, seen[*id])
		}
		seen[*id] = n
		out = append(out, v)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("there is no %s: the file is empty", kind)
	}
	return out, err
}

// ReadQueries reads queries, one JSON object a line:
//
//	{"id": "q1", "text": "how do I …", "group": "questions", "relevant": ["guide/start"]}
//
// "kind" is accepted for "group".
func ReadQueries(r io.Reader) ([]Query, error) {
	type query struct {
		Query
		Kind string `json:"kind"`
	}
	read, err := items(r, "query", "text", `{"id": "q1", "text": "…", "relevant": ["page"]}`, func(q *query) (*string, string, error) {
		q.Group = cmp.Or(q.Group, q.Kind)
		return &q.ID, q.Text, nil
	})
	out := make([]Query, len(read))
	for i := range read {
		out[i] = read[i].Query
	}
	return out, err
}

// Judgements returns the qrels of queries that have them: every page of
// Relevant, with grade 1.
func Judgements(queries []Query) Qrels {
	out := Qrels{}
	for _, q := range queries {
		for _, p := range q.Relevant {
			out.add(q.ID, p, 1)
		}
	}
	return out
}

func (q Qrels) add(id, page string, grade int) {
	if q[id] == nil {
		q[id] = map[string]int{}
	}
	q[id][Page(page)] = grade
}

// ReadQrels reads judgements, one a line: query id, path and grade, separated
// by tabs. A first line that begins with "query-id" is a heading. Grades below
// 1 are left out.
func ReadQrels(r io.Reader) (Qrels, error) {
	out := Qrels{}
	err := lines(r, func(n int, line []byte) error {
		f := strings.Split(string(line), "\t")
		if n == 1 && f[0] == "query-id" {
			return nil
		}
		if len(f) != 3 {
			return fmt.Errorf("%d fields; write query id, path and grade separated by tabs", len(f))
		}
		grade, err := strconv.Atoi(strings.TrimSpace(f[2]))
		if err != nil {
			return fmt.Errorf("grade %q is not a whole number", f[2])
		}
		if grade > maxGrade {
			return fmt.Errorf("grade %d is above %d", grade, maxGrade)
		}
		if grade > 0 {
			out.add(f[0], f[1], grade)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("no judgements: no line has a grade of 1 or more")
	}
	return out, err
}

// maxGrade keeps 2^grade exact.
const maxGrade = 30

// ReadRun reads a run: one line a query, {"query_id": "q1", "paths": ["best",
// "next"]}.
func ReadRun(r io.Reader) (Run, error) {
	out := Run{}
	err := lines(r, func(_ int, line []byte) error {
		var l struct {
			QueryID any      `json:"query_id"`
			Paths   []string `json:"paths"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf(`not a result: %w; write {"query_id": "q1", "paths": ["best", "next"]}`, err)
		}
		if l.QueryID == nil {
			return errors.New(`a result has no "query_id"`)
		}
		out[fmt.Sprint(l.QueryID)] = l.Paths
		return nil
	})
	return out, err
}

// WriteRun writes a run for ReadRun, in the order of queries.
func WriteRun(w io.Writer, queries []Query, run Run) error {
	results := make([]map[string]any, len(queries))
	for i, q := range queries {
		results[i] = map[string]any{"query_id": q.ID, "paths": append([]string{}, run[q.ID]...)}
	}
	return writeLines(w, results)
}

// WriteQueries writes queries for ReadQueries.
func WriteQueries(w io.Writer, queries []Query) error { return writeLines(w, queries) }

func writeLines[T any](w io.Writer, values []T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return nil
}
