"""Routes of the pages: each reads the request, loads a view and renders a template."""
