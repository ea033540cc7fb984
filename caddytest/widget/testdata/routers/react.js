// A page of React with the router of Docusaurus.
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter, Link, Route, Switch } from 'react-router-dom'

const page = title => () => h('article', {}, h('h1', {}, title), h(Link, { to: '/install' }, 'Next'))
createRoot(document.body).render(h(BrowserRouter, {}, h(Switch, {},
  h(Route, { path: '/install', component: page('Install Acme') }),
  h(Route, { path: '/', component: page('Acme') }))))
