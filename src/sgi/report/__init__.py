"""What people look at: Markdown pages and charts, made of values that the rooms below have measured."""
