"""Random damage of files."""


def damaged(content, pieces, random):
    """The bytes, changed in one to three places."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(changed))
        match random.choice(["flip", "delete", "repeat", "cut", "insert", "insert", "swap"]):
            case "flip":
                changed[at : at + 1] = (b ^ 1 << random.randint(0, 7) for b in changed[at : at + 1])
            case "delete":
                del changed[at : at + random.randint(1, 30)]
            case "repeat":
                changed[at:at] = changed[: random.randint(1, 60)]
            case "cut":
                del changed[at:]
            case "insert":
                changed[at:at] = random.choice(pieces)
            case "swap":
                other = random.randint(0, len(changed))
                changed[at : at + 8], changed[other : other + 8] = (
                    changed[other : other + 8], changed[at : at + 8],
                )  # fmt: skip
    return bytes(changed)
