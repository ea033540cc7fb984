package assistant

import (
	"testing"
)

func TestEventsComeInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		model *script
		want  string
	}{
		{"with a model", &script{rounds: []round{{text: "Run `sudo apt install acme` ([Install](https://docs.acme.com/install#linux))."}}},
			"start step call result /step step source text /step finish"},
		{"with a model that thinks", &script{rounds: []round{{reasoning: "hm", text: "Yes."}}},
			"start step call result /step step source reasoning text /step finish"},
		{"without a model", nil, "start step call result /step step source text /step finish"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := acme(nil)
			if c.model != nil {
				a.Model = c.model
			}
			_, rec := mustReply(t, a, ask("How do I install it on Linux?"))
			if got := rec.shape(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			t.Log(rec.text())
		})
	}
}
