"""Signs in to an MCP server with the OAuth client of the Python SDK, as a
browser would, and prints what it found, by person: python3 sign_in.py URL PERSON…"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx2
import mcp
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

REDIRECT = "http://127.0.0.1:9/callback"
url = sys.argv[1]


class Memory:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def sign_in(person):
    memory, seen = Memory(), {}

    async def browse(target):
        """Follows the provider's redirects up to the client's own URL."""
        seen["resource"] = parse_qs(urlsplit(target).query)["resource"][0]
        target += "&" + urlencode({"login_hint": person})
        async with httpx2.AsyncClient(follow_redirects=False) as browser:
            while not target.startswith(REDIRECT):
                response = await browser.get(target)
                target = urljoin(target, response.headers["location"])
        seen["callback"] = {k: v[0] for k, v in parse_qs(urlsplit(target).query).items()}

    async def callback():
        back = seen["callback"]
        return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    metadata = OAuthClientMetadata(
        client_name="test", redirect_uris=[REDIRECT], grant_types=["authorization_code", "refresh_token"],
        response_types=["code"], token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(url, metadata, memory, redirect_handler=browse, callback_handler=callback)
    async with httpx2.AsyncClient(auth=auth, follow_redirects=True) as http:
        async with mcp.Client(streamable_http_client(url, http_client=http)) as client:
            search = await client.call_tool("search", {"query": "salary bands"})
            results = search.structured_content["results"]
            page = ""
            if results:
                page = (await client.call_tool("fetch", {"id": results[0]["id"]})).structured_content["text"]
    return {
        "found": [r["url"] for r in results], "page": page,
        "resource": seen["resource"], "token": memory.tokens.access_token,
    }


async def main():
    print(json.dumps({person: {"python": await sign_in(person)} for person in sys.argv[2:]}))


asyncio.run(main())
