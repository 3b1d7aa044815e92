"""Warehouses: from a query plan and the user's images to a reviewed, documented suite of sets."""

# Raised by hand when an edit changes what is built from the same images.
WAREHOUSE_VERSION = 1
