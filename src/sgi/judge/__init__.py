"""The judge: a request to a model as a protocol, wrappers around it, and a judge that reads replies strictly.

The wrappers bound, repeat, keep, count and record requests. Metrics know only ``sgi.kernel.ports.Judge``; a
spec becomes a judge in ``sgi.judge.load``.
"""
