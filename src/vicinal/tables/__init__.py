"""From a file that nobody has checked to numbers and labels, each decision told."""
