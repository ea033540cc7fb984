package agents

import (
	"strings"
	"testing"
)

func TestCodeIsClosedAndOpenedAgainBetweenParts(t *testing.T) {
	code := strings.Repeat("run the service\n\n", 30)
	for _, part := range split("Text.\n\n> ```sh\n"+code+"> ```\n", 60) {
		if !strings.Contains(part, "> ```sh\n") && !strings.HasPrefix(part, "Text.") || strings.Count(part, "```")%2 != 0 {
			t.Errorf("a part is %q", part)
		}
	}
}
