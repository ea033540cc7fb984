package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licenses are those that a module in the binary may have, by words that only
// they have. Adding one here is a decision: it must allow distribution of
// binaries under Apache-2.0.
var licenses = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files"},
	{"BSD", "redistribution and use in source and binary forms, with or without modification, are permitted"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
	{"MPL-2.0", "mozilla public license version 2.0"}, // unmodified files, whose source is public
	{"CC0-1.0", "public domain with cc0 1.0"},
}

// refused are words of licenses that bind what they are linked into, wherever
// they are in a license file.
var refused = regexp.MustCompile(`gnu (affero |lesser )?general public license|server side public license|business source license|commons clause|elastic license`)

// licenseOf returns the name of a license by its text, "" if it is not in the
// list.
func licenseOf(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(strings.NewReplacer("//", " ", "> ", " ", "*", " ", ", version 2.0", " version 2.0").Replace(text))), " ")
	for _, l := range licenses {
		if !strings.Contains(text, l.words) {
			continue
		}
		// The MPL names the GPL as a secondary license that its user may choose.
		if l.name != "MPL-2.0" && refused.MatchString(text) {
			return ""
		}
		return l.name
	}
	return ""
}

func TestEveryModuleOfTheBinaryHasAnAllowedLicense(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", "./cmd/caddy").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(strings.Join(slices.Compact(slices.Sorted(strings.Lines(string(out)))), ""))
	counts := map[string]int{}
	for i := 0; i+1 < len(modules); i += 2 {
		name, dir := modules[i], modules[i+1]
		found := ""
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if found = licenseOf(string(text)); found != "" {
					break
				}
			}
			if found != "" {
				break
			}
		}
		if found == "" {
			t.Errorf("%s has no license of the list (%s)", name, dir)
		}
		counts[found]++
	}
	if len(modules) < 2*100 {
		t.Errorf("only %d modules were looked at", len(modules)/2)
	}
	t.Log(counts)
}

func TestLicensesOutsideTheListAreRefused(t *testing.T) {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, text, want string }{
		{"this project's", string(own), "Apache-2.0"},
		{"the GPL", "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", ""},
		{"the Commons Clause before Apache-2.0", "\"Commons Clause\" License Condition v1.0\n" + string(own), ""},
		{"no license", "All rights reserved.", ""},
	} {
		if got := licenseOf(c.text); got != c.want {
			t.Errorf("%s is taken for %q, want %q", c.what, got, c.want)
		}
	}
}
