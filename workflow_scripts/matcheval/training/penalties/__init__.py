"""Penalties and objectives of domain generalisation, as pure functions of tensors.

They are differentiable in any floating-point type, and know neither networks nor optimisers. Where
a function takes one tensor per domain, the domains are the training sets in their order.
"""
