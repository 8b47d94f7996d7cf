"""Other libraries' names on our estimators: `vicinal.compat.metric_learn`."""
