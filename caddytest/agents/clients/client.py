"""Calls an MCP server with the Python SDK and with FastMCP: python3 client.py URL"""

import asyncio
import json
import sys

import fastmcp
import mcp


async def main(url):
    async with mcp.Client(url) as client:
        tools = await client.list_tools()
        search = await client.call_tool("search", {"query": "install on linux"})
        found = search.structured_content["results"][0]
        fetched = await client.call_tool("fetch", {"id": found["id"]})
        resources = await client.list_resources()
        resource = await client.read_resource(resources.resources[0].uri)
        seen = {"python": {
            "tools": sorted(tool.name for tool in tools.tools),
            "found": found["url"],
            "text": found["text"],
            "page": json.loads(fetched.content[0].text)["text"],
            "resource": resource.contents[0].text,
        }}
    async with fastmcp.Client(url) as client:
        tools = await client.list_tools()
        search = await client.call_tool("search", {"query": "install on linux"})
        found = search.structured_content["results"][0]
        fetched = await client.call_tool("fetch", {"id": found["id"]})
        resources = await client.list_resources()
        resource = await client.read_resource(resources[0].uri)
        seen["fastmcp"] = {
            "tools": sorted(tool.name for tool in tools),
            "found": found["url"],
            "text": found["text"],
            "page": fetched.structured_content["text"],
            "resource": resource[0].text,
        }
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
