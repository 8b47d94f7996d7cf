"""Neural NCA beside boosted trees, kernel machines and other neighbours."""
