"""What people look at: pages, files, figures and notebook cells, made of views and other plain values."""
