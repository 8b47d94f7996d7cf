"""A campaign of hostile cases: what breaks, is lost or goes wrong without a word."""
