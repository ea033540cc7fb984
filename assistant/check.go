package assistant

import "context"

// checker passes the model's text on.
type checker struct {
	r      *run
	leaked bool
	sent   bool
}

func newChecker(ctx context.Context, r *run) *checker { return &checker{r: r} }
func (c *checker) write(b []byte)                     { c.r.out.text(b); c.sent = true }
func (c *checker) pause()                             {}
func (c *checker) close()                             {}
func (c *checker) sentInStep() bool                   { return c.sent }
func (c *checker) newStep()                           { c.sent = false }
func (r *run) cited() []string                        { return nil }
func (r *run) conclude()                              {}
