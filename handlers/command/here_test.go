package command

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// A panic is an error with its text: an end of the answer would hide a defect.
func TestAPanicIsAnErrorWithItsText(t *testing.T) {
	command := &target{app: new(app.App)} // never provisioned
	body, err := command.openHere(t.Context(), http.MethodGet, "/docs/keys", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); err == nil || !strings.Contains(err.Error(), "GET /docs/keys failed: ") {
		t.Errorf("the error is %v", err)
	}
}
