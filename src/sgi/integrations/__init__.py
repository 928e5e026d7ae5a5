"""Integrations with other tools, one module each, imported only by that tool."""
