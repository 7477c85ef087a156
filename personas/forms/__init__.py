"""What the pages about one app's own things accept: each module the forms of one noun."""
