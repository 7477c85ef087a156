"""Pages of the review desk."""
