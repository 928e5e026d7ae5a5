"""Views: plain values read from the store, shared by pages, tables and files."""
