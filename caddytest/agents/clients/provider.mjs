// An identity provider on a free port of localhost, oidc-provider, which the
// OpenID Foundation has certified: node provider.mjs jwt|opaque, the form of
// access tokens. It prints its URL. Who signs in is named by login_hint, or else
// is mia, and agrees to everything.
import http from 'node:http'
import Provider from 'oidc-provider'

const groups = { mia: ['staff', 'writers'], guest: [] }
const server = http.createServer((request, response) => handle(request, response))
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'docs', client_secret: 'a secret of the site', redirect_uris: [], response_types: [], grant_types: [],
    }],
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
    findAccount: (_, sub) => groups[sub] && { accountId: sub, claims: () => ({ sub, preferred_username: sub, groups: groups[sub] }) },
    extraTokenClaims: (_, token) => ({ preferred_username: token.accountId, groups: groups[token.accountId] }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    clientBasedCORS: () => true,
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    ttl: { AccessToken: 600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600, RefreshToken: 3600 },
    cookies: { keys: ['for tests'] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'openid profile', audience: resource, accessTokenTTL: 600, accessTokenFormat: process.argv[2],
        }),
      },
    },
  })
  handle = async (request, response) => {
    const path = new URL(request.url, issuer).pathname
    if (!path.startsWith('/interaction/')) return provider.callback()(request, response)
    const { params, prompt, session, grantId } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: params.login_hint ?? 'mia' } })
    }
    const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope('openid profile offline_access')
    if (params.resource) grant.addResourceScope(String(params.resource), 'openid profile')
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true })
  }
  console.log(issuer)
})
let handle
