module.exports = {
	title: 'Rockets',
	url: 'https://rockets.test',
	baseUrl: '/',
	presets: [['classic', { docs: { routeBasePath: '/' }, blog: false }]],
	themeConfig: {
		colorMode: { respectPrefersColorScheme: true },
		algolia: { appId: 'none', apiKey: 'none', indexName: 'none' },
	},
}
