"""Pages about one app's own things: each module the pages of one noun."""
