"""What the experiments share: resumable runs, budgets, records, and the results page."""
