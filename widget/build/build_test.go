package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestDistIsBuiltFromTheSources(t *testing.T) {
	built, err := Build("../src")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		committed, err := os.ReadFile(filepath.Join("../dist", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want := built[e.Name()]
		if filepath.Ext(e.Name()) == ".js" && bytes.ContainsAny(want, "=") { // code, whose names were chosen by trial
			if committed, err = rename(committed); err == nil {
				want, err = rename(want)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(committed, want) {
			t.Errorf("dist/%s is not what the sources make; run go generate ./widget", e.Name())
		}
		delete(built, e.Name())
	}
	for name := range built {
		t.Errorf("dist/%s is missing; run go generate ./widget", name)
	}
}
