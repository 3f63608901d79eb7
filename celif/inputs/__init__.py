"""What users bring: arrays in their own files, tasks of their own, checkpoints and samples."""
