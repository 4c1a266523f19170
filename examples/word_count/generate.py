"""Makes the input of the word count: lines of chat from a help desk, some of them empty or without a single word."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

LINES = 2_000
SEED = 7

PRODUCTS = ["invoice", "password", "delivery", "refund", "account", "app", "router", "order", "contract", "payment"]
ADVERBS = ["still", "again", "suddenly", "really", "never", "always"]
SENTENCES = [
    "My {product} is {adverb} not there.",
    "I have {adverb} waited for my {product}; where is it?",
    "The {product} does not work, {adverb}!",
    "HELLO?? My {product} -- it's {adverb} wrong",
    "please cancel the {product}",
    "Thanks, the {product} works now :-)",
    "How do I change my {product}? The {product} page is {adverb} empty...",
]
WITHOUT_WORDS = ["", "   ", "?!?!", "12345", "\U0001f600\U0001f600"]


def lines(count: int = LINES, seed: int = SEED) -> list[str]:
    """The chat. Few products make most of the trouble, as everywhere."""
    chance = random.Random(seed)
    shares = list(itertools.accumulate(1 / rank for rank in range(1, len(PRODUCTS) + 1)))
    made = []
    for _ in range(count):
        if chance.random() < 0.03:
            made.append(chance.choice(WITHOUT_WORDS))
            continue
        product = chance.choices(PRODUCTS, cum_weights=shares)[0]
        made.append(chance.choice(SENTENCES).format(product=product, adverb=chance.choice(ADVERBS)))
    return made


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "chat.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines()) + "\n")
    print(f"wrote {LINES:,} lines to {target}")
