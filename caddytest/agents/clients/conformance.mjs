// Runs scenarios of the protocol's conformance suite in one process: Node takes
// longer to load the suite than to run a scenario. The arguments are the URL, the
// revision, the folder for results, and the scenarios.
const [url, revision, results, ...scenarios] = process.argv.slice(2)
for (const scenario of scenarios) {
	process.argv.splice(2, Infinity, 'server', '--url', url, '--scenario', scenario, '--spec-version', revision, '-o', `${results}/${scenario}`)
	const ended = new Promise(resolve => { process.exit = resolve })
	await import(`./node_modules/@modelcontextprotocol/conformance/dist/index.js?${scenario}`)
	await ended
}
