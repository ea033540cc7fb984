package dashboard

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// maxExport is how many rows a file has at most.
const maxExport = 10_000

// exportAtOnce is how many rows are asked for at a time.
const exportAtOnce = 500

// column is a column of a table as CSV, and a field of its rows as JSON.
type column[T any] struct {
	name string
	// value returns text, a number, a time, a list of texts, or a pointer to a
	// number that is nil where there is none: null in JSON, empty in CSV.
	value func(*T) any
}

// exports reports whether the visitor asks for a table as a file.
func (q *request) exports() (bool, error) {
	switch q.URL.Query().Get("format") {
	case "":
		return false, nil
	case "csv", "json":
		return true, nil
	}
	return false, fail(http.StatusBadRequest, "format must be csv or json.")
}

// export answers with a table as a file. next returns at most exportAtOnce
// rows after those that it gets.
func export[T any](q *request, name string, columns []column[T], next func([]T) ([]T, error)) error {
	var rows []T
	for len(rows) < maxExport {
		more, err := next(rows)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
		if len(more) < exportAtOnce {
			break
		}
	}
	rows = rows[:min(len(rows), maxExport)]
	format, contentType := q.URL.Query().Get("format"), "text/csv; charset=utf-8"
	var body bytes.Buffer
	var err error
	if format == "json" {
		contentType = "application/json"
		err = writeJSON(&body, columns, rows)
	} else {
		err = writeCSV(&body, columns, rows)
	}
	if err != nil {
		return fmt.Errorf("writing %s as %s: %w", name, format, err)
	}
	h := q.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", q.site.Name+"-"+name+"-"+time.Now().UTC().Format(time.DateOnly)+"."+format))
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	if q.Method != http.MethodHead {
		_, _ = q.w.Write(body.Bytes()) // an error means that the visitor is gone
	}
	return nil
}

// writeJSON writes objects whose fields have the order of the columns.
func writeJSON[T any](b *bytes.Buffer, columns []column[T], rows []T) error {
	b.WriteByte('[')
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n{")
		for j, c := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			value, err := json.Marshal(c.value(&rows[i]))
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "%q:%s", c.name, value)
		}
		b.WriteByte('}')
	}
	b.WriteString("\n]\n")
	return nil
}

func writeCSV[T any](b *bytes.Buffer, columns []column[T], rows []T) error {
	w := csv.NewWriter(b)
	w.UseCRLF = true // RFC 4180
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	if err := w.Write(row); err != nil {
		return err
	}
	for i := range rows {
		for j, c := range columns {
			row[j] = cell(c.value(&rows[i]))
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// cell is a value as CSV has it.
func cell(value any) string {
	switch v := value.(type) {
	case string:
		return plainCell(v)
	case []string:
		return plainCell(strings.Join(v, "\n"))
	case *time.Time:
		if v == nil {
			return ""
		}
		return v.UTC().Format(time.RFC3339)
	case *float64:
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 6, 64)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return fmt.Sprint(value) // numbers, days, true and false
}

// plainCell keeps spreadsheets from reading a text as a formula.
func plainCell(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if s != "" && strings.ContainsAny(s[:1], "=+-@\t\r\n") || strings.HasPrefix(s, "＝") || strings.HasPrefix(s, "＋") || strings.HasPrefix(s, "－") || strings.HasPrefix(s, "＠") {
		return "'" + s
	}
	return s
}

// when is a time that may be missing.
func when(t time.Time) any {
	if t.IsZero() {
		return (*time.Time)(nil)
	}
	t = t.UTC()
	return &t
}

// searchColumns are those of the table of searches.
var searchColumns = []column[insights.QueryStats]{
	{"query", func(r *insights.QueryStats) any { return r.Query }},
	{"searches", func(r *insights.QueryStats) any { return r.Searches }},
	{"no_result", func(r *insights.QueryStats) any { return r.NoResult }},
	{"weak", func(r *insights.QueryStats) any { return r.Weak }},
	{"tracked", func(r *insights.QueryStats) any { return r.Tracked }},
	{"clicked", func(r *insights.QueryStats) any { return r.Clicked }},
	{"click_rate", func(r *insights.QueryStats) any { return r.ClickRate }},
	{"mean_position", func(r *insights.QueryStats) any { return r.MeanPosition }},
	{"top_page", func(r *insights.QueryStats) any { return r.TopPage }},
	{"last", func(r *insights.QueryStats) any { return r.Last.String() }},
}
