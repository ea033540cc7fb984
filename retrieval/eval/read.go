package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
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

// ReadQueries reads queries, one JSON object a line:
//
//	{"id": "q1", "text": "how do I …", "group": "questions", "relevant": ["guide/start"]}
//
// "kind" is accepted for "group". Without "id", the id is the line's number. Ids
// must be unique. Errors name the line.
func ReadQueries(r io.Reader) ([]Query, error) {
	var out []Query
	seen := map[string]int{}
	err := lines(r, func(n int, line []byte) error {
		var raw struct {
			Query
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(line, &raw); err != nil {
			return fmt.Errorf(`not a query: %w; write {"id": "q1", "text": "…", "relevant": ["page"]}`, err)
		}
		q := raw.Query
		if q.ID == "" {
			q.ID = strconv.Itoa(n)
		}
		if strings.TrimSpace(q.Text) == "" {
			return fmt.Errorf(`query %q has no "text"`, q.ID)
		}
		q.Group = cmp.Or(q.Group, raw.Kind)
		if at, ok := seen[q.ID]; ok {
			return fmt.Errorf("query %q was already on line %d", q.ID, at)
		}
		seen[q.ID] = n
		out = append(out, q)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no queries: the file is empty")
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
		err = fmt.Errorf("no judgements: no line has a grade of 1 or more")
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
			return fmt.Errorf(`a result has no "query_id"`)
		}
		out[fmt.Sprint(l.QueryID)] = l.Paths
		return nil
	})
	return out, err
}

// WriteRun writes a run for ReadRun, in the order of queries.
func WriteRun(w io.Writer, queries []Query, run Run) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, q := range queries {
		paths := run[q.ID]
		if paths == nil {
			paths = []string{}
		}
		if err := e.Encode(map[string]any{"query_id": q.ID, "paths": paths}); err != nil {
			return err
		}
	}
	return nil
}

// WriteQueries writes queries for ReadQueries.
func WriteQueries(w io.Writer, queries []Query) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, q := range queries {
		if err := e.Encode(q); err != nil {
			return err
		}
	}
	return nil
}
