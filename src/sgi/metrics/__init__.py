"""Metrics: frozen dataclasses, each binding a pure function to the columns of a batch.

They are found by name through ``sgi.kernel.registry``; nothing is imported before it is asked for.
"""
