"""The scores that accuracy is predicted from: pure functions, each declared once in `registry`."""
