package caddytest

import (
	"strings"
	"testing"
)

// Site returns a site block that serves acme from a folder, with the given
// lines in its docs block.
func Site(root string, lines ...string) string {
	return "http://:0 {\n\tdocs acme " + root + " {\n" + strings.Join(lines, "\n") + "\n\t}\n}\n"
}

// MetricsSite is Site with Caddy's metrics at /metrics.
func MetricsSite(root string) string {
	return "http://:0 {\n\thandle /metrics {\n\t\tmetrics\n\t}\n\tdocs acme " + root + "\n}\n"
}

// acme is the site of most tests. It has pages of all three kinds.
var acme = map[string]string{
	"index.md": "---\ntitle: Acme\ndescription: The documentation of Acme.\n---\n\n# Acme\n\nIt runs rockets from a configuration file.\n",
	"guide/install.md": `---
title: Install Acme
tags: [setup, linux]
version: "2.0"
language: en
---

# Install Acme

Download the archive and unpack it.

## On Linux

Run the installer with administrator rights:

` + "```sh\nsudo acme-install --prefix /opt/acme\n```" + `

## On Windows

Start acme-setup.exe and follow the assistant on the screen.
`,
	"guide/configure.mdx": `---
title: Configure
---
import { Note } from '@site/components'

# Configure

The file acme.toml holds the settings.

<Note title="Restart needed">Rockets read their settings at start.</Note>

## Thrust limits

Set max_thrust to the newtons that your rocket may use.
`,
	"reference.html": `<!doctype html><html lang="en"><head><title>Reference · Acme</title><meta name="description" content="All options of acme.toml."></head>
<body><nav>Home Guide Pricing Careers</nav><main><h1 id="reference">Reference</h1><p>Every option of the file.</p>
<h2 id="max_thrust">max_thrust</h2><p>Newtons, default 1000. The launch is refused above it.</p>
<h2 id="countdown">countdown</h2><p>Seconds before ignition, default 10.</p></main><footer>Imprint and cookies</footer></body></html>`,
}

// AcmeFolder returns a new folder with acme's pages.
func AcmeFolder(t testing.TB) string {
	t.Helper()
	return Folder(t, acme)
}

// StartAcme runs acme and waits until it is ready.
func StartAcme(t testing.TB) *Server {
	t.Helper()
	s := Start(t, "", Site(AcmeFolder(t)))
	s.Ready("acme")
	return s
}
