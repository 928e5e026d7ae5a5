"""The command `sgi serve`."""
