"""The application: tables, comparisons, reports, models in files, the command line."""
