"""Matching on uncertainty scores other than the confidence."""
