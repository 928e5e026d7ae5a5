"""LLM judges: the protocol of a chat model, wrappers around it, and a judge that validates replies.

The wrappers limit, retry, cache, count and record requests. Metrics depend only on the protocol
``sgi.kernel.protocols.Judge``; ``sgi.llm.open_judge`` opens a judge from its spec.
"""
