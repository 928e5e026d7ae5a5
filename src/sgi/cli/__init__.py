"""The command line: one file for each command. Data goes to stdout, messages go to stderr."""
