package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// setPace sets the fake model's pace.
func setPace(ctx context.Context, addr string, p pace) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/pace", strings.NewReader(p.String()))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the model's server answers %s", res.Status)
	}
	return nil
}
