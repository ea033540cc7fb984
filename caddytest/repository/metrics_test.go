package repository

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// registered are the names and labels of all metrics, as metrics.go has them:
// those that are read when they are collected have no other list.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	var source []byte
	for _, file := range []string{"handlers/observe/metrics.go", "handlers/app/metrics.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, data...)
	}
	all := map[string][]string{}
	for _, m := range regexp.MustCompile(`\b(counter|gauge|seconds|reading)\("([a-z_]+)", "(?:[^"\\]|\\.)*"((?:, "[a-z]+")*)\)`).FindAllStringSubmatch(string(source), -1) {
		var labels []string
		for _, l := range regexp.MustCompile(`[a-z]+`).FindAllString(m[3], -1) {
			labels = append(labels, l)
		}
		name := "caddy_docs_" + m[2]
		all[name] = labels
		if m[1] == "seconds" {
			all[name+"_bucket"] = append(labels, "le")
		}
	}
	if len(all) < 30 || all["caddy_docs_first_token_seconds_bucket"] == nil || !slices.Equal(all["caddy_docs_insights_failing"], nil) {
		t.Fatalf("metrics.go is not read as it is: %v", all)
	}
	return all
}

func TestTheManualListsEveryMetric(t *testing.T) {
	manual, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	all := registered(t)
	for name := range all {
		if !strings.HasSuffix(name, "_bucket") && !strings.Contains(string(manual), "| `"+name+"` |") {
			t.Errorf("%s is not in docs/operations.md", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(caddy_docs_[a-z_]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(string(manual), -1) {
		labels, known := all[m[1]]
		if documented := regexp.MustCompile(`[a-z]+`).FindAllString(m[2], -1); !known || !slices.Equal(documented, labels) {
			t.Errorf("%s: docs/operations.md has the labels %q, the metric %q (registered: %v)", m[1], documented, labels, known)
		}
	}
}

func TestTheGrafanaDashboardShowsMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile("docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	type source struct{ Type, UID string }
	var d struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			Datasource  *source
			GridPos     struct{ X, Y, W, H int }
			FieldConfig struct {
				Defaults struct{ Unit string }
			}
			Targets []struct {
				Expr, RefID string
				Datasource  source
			}
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || len(d.Panels) < 10 {
		t.Errorf("%q %q %d, %d panels", d.UID, d.Title, d.SchemaVersion, len(d.Panels))
	}
	all := registered(t)
	check := func(where, expr string) {
		names := regexp.MustCompile(`caddy_docs_[a-z_]+`).FindAllString(expr, -1)
		if len(names) == 0 {
			t.Errorf("%s: no metric in %q", where, expr)
		}
		for _, m := range regexp.MustCompile(`(caddy_docs_[a-z_]+)(\{[^}]*\})?`).FindAllStringSubmatch(expr, -1) {
			labels, known := all[m[1]]
			if !known {
				t.Errorf("%s: there is no metric %s", where, m[1])
			}
			used := regexp.MustCompile(`([a-z]+)=`).FindAllStringSubmatch(m[2], -1)
			used = append(used, regexp.MustCompile(`\bby \(([a-z]+)(?:, ([a-z]+))?\)`).FindAllStringSubmatch(expr, -1)...)
			for _, u := range used {
				for _, label := range u[1:] {
					if label != "" && !slices.Contains(labels, label) {
						t.Errorf("%s: %s has no label %s", where, m[1], label)
					}
				}
			}
		}
		for _, pair := range []string{"()", "{}", "[]"} {
			if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
				t.Errorf("%s: %q is not balanced", where, expr)
			}
		}
	}
	variables := map[string]string{}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
		if v.Type == "query" {
			check("variable "+v.Name, v.Definition)
		}
	}
	if variables["datasource"] != "datasource" || variables["site"] != "query" {
		t.Errorf("variables: %v", variables)
	}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" || !slices.Contains([]string{"row", "stat", "timeseries"}, p.Type) {
			t.Errorf("panel %d %q of type %q", p.ID, p.Title, p.Type)
		}
		ids[p.ID] = true
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s is at %+v", p.Title, g)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s is on top of %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] || target.RefID == "" || target.Datasource != (source{"prometheus", "${datasource}"}) {
				t.Errorf("%s: %+v", p.Title, target)
			}
			refs[target.RefID] = true
			check(p.Title, target.Expr)
		}
		if len(refs) == 0 || p.Datasource == nil || p.FieldConfig.Defaults.Unit == "" {
			t.Errorf("%s has no query, data source or unit", p.Title)
		}
	}
}
