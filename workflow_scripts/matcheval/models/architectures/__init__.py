"""The architectures, a module per family: functions from a `Blueprint` to a module.

torchvision and timm are imported where they are used: that takes seconds, and the small
architectures need neither.
"""
