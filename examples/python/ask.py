"""Asks the assistant, and prints the answer while it arrives."""

import json
import os
import sys
import urllib.error
import urllib.request
import uuid


class AssistantError(Exception):
    """Its text is a sentence for the reader."""


def ask(url, key, question, thread_id=None):
    """Yields ("text", text), ("source", title, url) and at last ("thread", id)."""
    body = {
        "fp": "anonymous",
        "threadId": thread_id,
        "messages": [{"id": str(uuid.uuid4()), "role": "user", "parts": [{"type": "text", "text": question}]}],
    }
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    )
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        try:
            text = json.loads(text)["error"]
        except (ValueError, KeyError, TypeError):
            pass  # a proxy's own page
        raise AssistantError(text) from None
    finished = False
    with response:
        for line in response:
            if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
                continue
            event = json.loads(line[6:])
            if event["type"] == "text-delta":
                yield "text", event["delta"]
            elif event["type"] == "source-url":
                yield "source", event.get("title", ""), event["url"]
            elif event["type"] == "error":
                raise AssistantError(event["errorText"])
            elif event["type"] == "finish":
                finished = True
    if not finished:
        raise AssistantError("The answer broke off; please ask again.")
    yield "thread", response.headers["X-Thread-Id"]


def main():
    thread = None
    for question in sys.argv[1:]:
        sources = []
        for what, *value in ask(os.environ["DOCS_URL"], os.environ["DOCS_KEY"], question, thread):
            if what == "text":
                print(value[0], end="", flush=True)
            elif what == "source":
                sources.append(value)
            else:
                thread = value[0]
        print("\n")
        for title, url in sources:
            print(f"{title}: {url}")
        print(f"thread {thread}")


if __name__ == "__main__":
    try:
        main()
    except AssistantError as error:
        sys.exit(str(error))
