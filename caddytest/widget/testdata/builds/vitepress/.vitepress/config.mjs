export default { title: 'Rockets', themeConfig: { search: { provider: 'local' } } }
