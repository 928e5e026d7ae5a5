"""What people look at, as plain values: read from the store, shown by every page, table and file alike."""
