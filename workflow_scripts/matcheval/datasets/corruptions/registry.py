"""All corruptions by name."""

from matcheval.datasets.corruptions import (
    bar_drawn,
    bar_noise,
    bar_warps,
    blur,
    digital,
    noise,
    weather,
)
from matcheval.datasets.corruptions.corruption import Corruption

CORRUPTIONS: dict[str, Corruption] = {
    corruption.name: corruption
    for family in (noise, blur, weather, digital, bar_noise, bar_drawn, bar_warps)
    for corruption in family.CORRUPTIONS
}
