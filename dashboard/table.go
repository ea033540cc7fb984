package dashboard

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

const (
	// rowsAtOnce is how many rows of a table one page shows.
	rowsAtOnce = 50
	// maxExport is how many rows a file has at most, exportAtOnce how many are
	// asked for at a time.
	maxExport    = 10_000
	exportAtOnce = 500
)

// table is a list of rows: a page shows some of them, a file has all.
type table[T any] struct {
	// columns are the names in files, separated by spaces.
	columns string
	// cells returns the values of a row: texts, numbers, times, lists of texts, or
	// pointers to numbers that are nil where there is none, which is null in JSON
	// and empty in CSV.
	cells func(*T) []any
	// at is the place of a row in a list that begins with the newest: entries
	// that come while the visitor reads don't move its pages. Pages of other
	// lists have numbers.
	at func(*T) insights.Cursor
}

// reader reads rows, those that a Query's Limit, Offset and Before name.
type reader[T any] func(context.Context, insights.Scope, insights.Query) ([]T, error)

// listed reads rows that are there as a whole.
func listed[T any](rows []T) reader[T] {
	return func(_ context.Context, _ insights.Scope, q insights.Query) ([]T, error) {
		offset := min(q.Offset, len(rows))
		return rows[offset:min(len(rows), offset+q.Limit)], nil
	}
}

// pager is the place in a list: the parameters of the neighbors, nil for none.
type pager struct{ Before, Next []string }

// list answers with the page of the route and its data, or with the file that
// the visitor asks for.
func (t table[T]) list(q *request, file string, query insights.Query, read reader[T], data any) error {
	if q.format != "" {
		return t.export(q, file, query, read)
	}
	if err := t.page(q, query, read); err != nil {
		return err
	}
	return q.show(http.StatusOK, data)
}

// page reads the rows of the page that the visitor is on.
func (t table[T]) page(q *request, query insights.Query, read reader[T]) error {
	n, _ := strconv.Atoi(q.URL.Query().Get("page"))
	n = min(max(n, 1), 1000)
	before := &query.Before
	switch _, err := fmt.Sscanf(q.URL.Query().Get("before"), "%d.%d", &before.At, &before.ID); {
	case t.at != nil && err == nil:
		q.Pager.Before = []string{"before", ""}
	case t.at != nil:
		*before = insights.Cursor{}
	case n > 1:
		q.Pager.Before = []string{"page", strconv.Itoa(n - 1)}
	}
	query.Limit, query.Offset = rowsAtOnce+1, (n-1)*rowsAtOnce // one more: is there a next page?
	rows, err := read(q.Context(), q.scope(), query)
	if len(rows) > rowsAtOnce {
		rows = rows[:rowsAtOnce]
		q.Pager.Next = []string{"page", strconv.Itoa(n + 1)}
		if t.at != nil {
			last := t.at(&rows[rowsAtOnce-1])
			q.Pager.Next = []string{"before", fmt.Sprintf("%d.%d", last.At, last.ID)}
		}
	}
	q.Rows = rows
	return q.stored(err)
}

// export answers with the rows as a file.
func (t table[T]) export(q *request, name string, query insights.Query, read reader[T]) error {
	var rows []T
	query.Limit = exportAtOnce
	for len(rows) < maxExport {
		if query.Offset = len(rows); t.at != nil && len(rows) > 0 {
			query.Before = t.at(&rows[len(rows)-1])
		}
		more, err := read(q.Context(), q.scope(), query)
		if err != nil {
			return q.stored(err)
		}
		if rows = append(rows, more...); len(more) < exportAtOnce {
			break
		}
	}
	rows = rows[:min(len(rows), maxExport)]
	write, contentType := t.writeCSV, "text/csv; charset=utf-8"
	if q.format == "json" {
		write, contentType = t.writeJSON, "application/json"
	}
	var body bytes.Buffer
	write(&body, rows)
	file := q.Site.Name + "-" + name + "-" + time.Now().UTC().Format(time.DateOnly) + "." + q.format
	q.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", file))
	q.write(http.StatusOK, contentType, body.Bytes())
	return nil
}

// writeJSON writes objects whose fields have the order of the columns.
func (t table[T]) writeJSON(b *bytes.Buffer, rows []T) {
	names := strings.Fields(t.columns)
	b.WriteByte('[')
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		before := "\n{"
		for j, v := range t.cells(&rows[i]) {
			value, _ := json.Marshal(v) // can't fail
			fmt.Fprintf(b, "%s%q:%s", before, names[j], value)
			before = ","
		}
		b.WriteByte('}')
	}
	b.WriteString("\n]\n")
}

func (t table[T]) writeCSV(b *bytes.Buffer, rows []T) {
	w := csv.NewWriter(b)
	w.UseCRLF = true                       // RFC 4180
	_ = w.Write(strings.Fields(t.columns)) // a buffer takes everything
	for i := range rows {
		var row []string
		for _, v := range t.cells(&rows[i]) {
			row = append(row, cell(v))
		}
		_ = w.Write(row)
	}
	w.Flush()
}

// cell is a value as CSV has it.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
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

// formula begins one, also where a spreadsheet takes semicolons or tabs as
// separators, and so ignores the quotes around a text and its lines.
var formula = regexp.MustCompile(`(^|[;\t\r\n])([ "']*[=+\-@＝＋－＠])`)

// plainCell keeps spreadsheets from reading a text as a formula.
func plainCell(s string) string {
	return formula.ReplaceAllString(strings.ReplaceAll(s, "\x00", ""), "$1'$2")
}

// when is a time that may be missing.
func when(t time.Time) any {
	if t.IsZero() {
		return (*time.Time)(nil)
	}
	t = t.UTC()
	return &t
}
