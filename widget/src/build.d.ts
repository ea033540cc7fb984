declare module '*.css' {
  const css: string
  export default css
}

/** T has the place of each text in the lists that the build makes of
 * strings/*.json. */
declare const T: { readonly [name in keyof typeof import('./strings/en.json')]: number }

/** CONTEXT is the argument of the function in which the build wraps main.ts. */
declare const CONTEXT: import('./types').Context

/** MENU is what main.ts hands to menu.ts, and the build puts its name into
 * __DOCS_MENU__. */
declare const MENU: import('./types').MenuContext
declare const __DOCS_MENU__: string

/** MENU_TEXTS are the last texts of strings/en.json, from "use" on. */
declare const MENU_TEXTS: string[]
