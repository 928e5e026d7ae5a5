"""Texts on which our tokenizer and model are compared with the reference implementations."""

import json
import random
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"
FIELDS = ("knowledge", "question", "right_answer", "hallucinated_answer")
HOSTILE = (
    "",
    " ",
    "\n\t\r",
    "a\x00b",
    "\ufeffBOM",
    "東京は日本の首都です。",
    "한국의 수도는 서울이다",
    "ירושלים היא עיר",
    "مرحبا بالعالم",
    "Привет, мир",
    "Ωμέγα και άλφα",
    "👩‍👩‍👧 🎉 🇫🇷",
    "e\u0301 é \u212b ﬁ ½ Ⅳ",
    "İstanbul ẞ ſ ǅ",
    "[CLS] [SEP] [MASK] [PAD] [UNK] ##ing [mask]",
    "x" * 100,
    "x" * 101,
    "!?.,;:—–…«»“”'`",
    "$1,000.00 = 1e3 % ^ ~ <tag/> \\ | @user #tag",
    "\u200b\u200d\u2028\u2029\u00ad\u202e",
    "don't isn't l'eau",
    "a" * 1000 + " b",
    "word " * 400,
    "https://example.org/a?b=c&d=%20#e",
)
_RANGES = (
    (0x00, 0x7F),
    (0x80, 0x24F),
    (0x300, 0x36F),
    (0x370, 0x6FF),
    (0x900, 0xDFF),
    (0x1100, 0x11FF),
    (0x1E00, 0x23FF),
    (0x2E80, 0x33FF),
    (0x3400, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xFFFF),
    (0x10000, 0x2FA1F),
    (0xE0000, 0x10FFFF),
)


def real_texts() -> list[str]:
    """The fields of the bundled sample: 1,000 texts."""
    with SAMPLE.open(encoding="utf-8") as lines:
        return [row[field] for row in map(json.loads, lines) for field in FIELDS]


def random_texts(count: int = 2000) -> list[str]:
    """Texts of random Unicode characters, each text from a few ranges; the seed is fixed."""
    chance = random.Random(2512)
    return [_random_text(chance) for _ in range(count)]


def _random_text(chance: random.Random) -> str:
    ranges = chance.sample(_RANGES, chance.randint(1, 3))
    points = [chance.randint(*chance.choice(ranges)) for _ in range(chance.randint(1, 40))]
    words = ["un", "##s", "the", " ", "  ", "ing", "\n"]
    return "".join(
        chance.choice(words) if chance.random() < 0.2 or 0xD800 <= point <= 0xDFFF else chr(point)
        for point in points
    )


def tokenizer_texts() -> list[str]:
    """All texts on which tokenizers are compared."""
    return [*HOSTILE, *real_texts(), *random_texts()]


def embedded_texts() -> list[str]:
    """All texts on which vectors are compared."""
    return [*HOSTILE, *real_texts()[:32]]
