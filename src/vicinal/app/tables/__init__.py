"""From files that nobody has checked to numbers and labels, with every decision."""
