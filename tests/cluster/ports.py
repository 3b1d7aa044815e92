"""Ports for the daemons of a test cluster."""

import contextlib
import socket


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
