"""The papers' tables and figures, one module each; `registry` has them by name."""
