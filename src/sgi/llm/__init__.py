"""The judge: a request to a model as a protocol, wrappers around it, and a judge that reads replies strictly.

The wrappers limit, retry, cache, count and record requests. Metrics know only ``sgi.kernel.protocols.Judge``;
``sgi.llm.load`` opens a judge from its spec.
"""
