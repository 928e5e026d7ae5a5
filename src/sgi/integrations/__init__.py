"""Integrations with other tools, one module for each tool, which only that tool imports."""
