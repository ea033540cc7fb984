// A page of Vue with its router.
import { createApp, h } from 'vue'
import { createRouter, createWebHistory, RouterLink, RouterView } from 'vue-router'

const page = title => ({ render: () => h('article', [h('h1', title), h(RouterLink, { to: '/install' }, () => 'Next')]) })
createApp({ render: () => h(RouterView) }).use(createRouter({
  history: createWebHistory(),
  routes: [{ path: '/install', component: page('Install Acme') }, { path: '/', component: page('Acme') }],
})).mount('body')
