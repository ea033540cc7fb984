package dashboard

import (
	"fmt"
	"strconv"

	"github.com/caddy-docs/caddy-docs/insights"
)

// rowsAtOnce is how many rows of a table one page shows.
const rowsAtOnce = 50

// pager is the place in a list.
type pager struct {
	// Before and Next are the parameters of the neighbors, nil for none.
	Before, Next []string
}

// ranked is a list in an order other than time. Its pages have numbers.
type ranked[T any] func(limit, offset int) ([]T, error)

// listed is a list that is there as a whole.
func listed[T any](rows []T) ranked[T] {
	return func(limit, offset int) ([]T, error) {
		offset = min(offset, len(rows))
		return rows[offset:min(len(rows), offset+limit)], nil
	}
}

// page reads the rows of the page that the visitor is on.
func (list ranked[T]) page(q *request) (rows []T, place pager, err error) {
	n, _ := strconv.Atoi(q.URL.Query().Get("page"))
	n = min(max(n, 1), 1000)
	if n > 1 {
		place.Before = []string{"page", strconv.Itoa(n - 1)}
	}
	rows, err = list(rowsAtOnce+1, (n-1)*rowsAtOnce) // one more: is there a next page?
	if len(rows) > rowsAtOnce {
		place.Next = []string{"page", strconv.Itoa(n + 1)}
		rows = rows[:rowsAtOnce]
	}
	return rows, place, q.stored(err)
}

// export answers with the list as a file.
func (list ranked[T]) export(q *request, name string, columns []column[T]) error {
	return export(q, name, columns, func(got []T) ([]T, error) {
		rows, err := list(exportAtOnce, len(got))
		return rows, q.stored(err)
	})
}

// newestFirst is a list that begins with the newest entry. Entries that come
// while the visitor reads don't move its pages.
type newestFirst[T any] struct {
	read func(limit int, before insights.Cursor) ([]T, error)
	// at is the place of an entry.
	at func(*T) insights.Cursor
}

// page reads the rows of the page that the visitor is on.
func (list newestFirst[T]) page(q *request) (rows []T, place pager, err error) {
	var before insights.Cursor
	if _, err := fmt.Sscanf(q.URL.Query().Get("before"), "%d.%d", &before.At, &before.ID); err == nil {
		place.Before = []string{"before", ""}
	} else {
		before = insights.Cursor{}
	}
	rows, err = list.read(rowsAtOnce+1, before) // one more: is there a next page?
	if len(rows) > rowsAtOnce {
		rows = rows[:rowsAtOnce]
		last := list.at(&rows[rowsAtOnce-1])
		place.Next = []string{"before", fmt.Sprintf("%d.%d", last.At, last.ID)}
	}
	return rows, place, q.stored(err)
}

// export answers with the list as a file.
func (list newestFirst[T]) export(q *request, name string, columns []column[T]) error {
	return export(q, name, columns, func(got []T) ([]T, error) {
		var before insights.Cursor
		if len(got) > 0 {
			before = list.at(&got[len(got)-1])
		}
		rows, err := list.read(exportAtOnce, before)
		return rows, q.stored(err)
	})
}
