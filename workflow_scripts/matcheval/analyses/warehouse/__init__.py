"""Warehouses whose sets are in a suite of the study: the jobs that build them."""
