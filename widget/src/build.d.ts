declare module '*.css' {
  const css: string
  export default css
}

/** T has the place of each text in the lists that the build makes of
 * strings/*.json. */
declare const T: { readonly [name in keyof typeof import('./strings/en.json')]: number }

/** CONTEXT is the argument of the function in which the build wraps main.ts. */
declare const CONTEXT: import('./types').Context

/** PAGE is what main.ts hands to page.ts, and the build puts its name into
 * __DOCS_PAGE__. */
declare const PAGE: import('./types').PageContext
declare const __DOCS_PAGE__: string

/** PAGE_TEXTS are the last texts of strings/en.json, from "helpful" on. */
declare const PAGE_TEXTS: string[]
