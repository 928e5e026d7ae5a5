"""The command line: one file a verb; it parses, calls and prints. stdout is data, stderr is talk."""
