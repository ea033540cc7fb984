package meiliserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// enqueue runs a task at once, unless FailTasks makes it fail. f returns why
// the task failed, nil if it succeeded.
func (s *Server) enqueue(w http.ResponseWriter, kind, uid string, details map[string]any, f func() (problem map[string]any)) {
	t := &task{uid: len(s.tasks), index: uid, kind: kind, details: details}
	if s.failTask != nil {
		if code := s.failTask(kind, uid); code != "" {
			t.problem = problem(code, uid)
		}
	}
	if t.problem == nil {
		t.problem = f()
	}
	s.tasks = append(s.tasks, t)
	reply(w, http.StatusAccepted, map[string]any{
		"taskUid": t.uid, "indexUid": orNull(uid), "status": "enqueued", "type": kind, "enqueuedAt": stamp,
	})
}

func orNull(uid string) any {
	if uid == "" {
		return nil
	}
	return uid
}

const stamp = "2026-11-20T15:00:00.123456789Z"

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("uid"))
	if err != nil || n < 0 || n >= len(s.tasks) || !s.rightsOf(r).may(s.tasks[n].index) {
		// A swap's task has no index: a key for some indexes does not see it.
		fail(w, "task_not_found", r.PathValue("uid"))
		return
	}
	reply(w, 200, s.tasks[n].view())
}

func (t *task) view() map[string]any {
	out := map[string]any{
		"uid": t.uid, "batchUid": t.uid, "indexUid": orNull(t.index), "status": "succeeded", "type": t.kind, "canceledBy": nil,
		"details": t.details, "error": nil, "duration": "PT0.012345678S", "enqueuedAt": stamp, "startedAt": stamp, "finishedAt": stamp,
	}
	if t.problem != nil {
		out["status"], out["error"] = "failed", t.problem
	}
	return out
}

// listTasks replies with the latest tasks first.
func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) {
	_, limit := paging(r)
	only := func(name, value string) bool {
		list := r.URL.Query().Get(name)
		return list == "" || slices.Contains(strings.Split(list, ","), value)
	}
	k := s.rightsOf(r)
	results, total := []map[string]any{}, 0
	for _, t := range slices.Backward(s.tasks) {
		v := t.view()
		if k.may(t.index) && only("indexUids", t.index) && only("statuses", v["status"].(string)) {
			if total++; total <= limit {
				results = append(results, v)
			}
		}
	}
	out := map[string]any{"results": results, "total": total, "limit": limit, "from": nil, "next": nil}
	if len(results) > 0 {
		out["from"] = results[0]["uid"]
	}
	reply(w, 200, out)
}
