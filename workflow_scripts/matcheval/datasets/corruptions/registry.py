"""All corruptions by name."""

from matcheval.datasets.corruptions import blur, digital, noise, weather
from matcheval.datasets.corruptions.corruption import Corruption

CORRUPTIONS: dict[str, Corruption] = {
    corruption.name: corruption
    for family in (noise, blur, weather, digital)
    for corruption in family.CORRUPTIONS
}
