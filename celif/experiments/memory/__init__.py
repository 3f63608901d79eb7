"""Long memory: the adding problem and copy memory, and how their recipes were found."""
