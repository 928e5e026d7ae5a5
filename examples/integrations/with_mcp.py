"""Check the answers of a small RAG application as an agent does: over MCP, with the tools of `sgi mcp`."""

import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

PASSAGES = ["The tower was built in 1889.", "The tower is 330 m tall."]
ANSWERS = {
    "When was the tower built?": "It was built in 1889.",
    "How tall is the tower?": "It is 312 m tall.",
    "Who built the tower?": "",  # the model returned nothing
}

# An agent starts the command `sgi mcp`.
server = StdioServerParameters(command=sys.executable, args=["-m", "sgi", "mcp"])


async def main() -> None:
    """Call the tool `check` for each answer."""
    async with Client(stdio_client(server)) as client:
        print(*(tool.name for tool in (await client.list_tools()).tools))
        for question, answer in ANSWERS.items():
            arguments: dict[str, Any] = {"question": question, "contexts": PASSAGES, "response": answer}
            result = await client.call_tool("check", arguments)
            checked = result.structured_content or {}
            value = checked["reason"] if checked["grounding"] is None else f"{checked['grounding']:.2f}"
            print(f"{question:<27}{value}")


anyio.run(main)
