"""Real tables as they are: the models for them, their scores and their CPU time."""
