"""What Python skeletons do with the data that they carry: read one file, sum it up in text."""

from collections.abc import Callable
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.skeletons.phrases import CITIES, NAMES


class Job(NamedTuple):
    """One job.

    Attributes:
        names: what its function may be called, and the program.
        about: what the program says of itself.
        files: names of its data.
        imports: modules of the standard library that the source uses.
        data: draws the data.
        source: Python; defines `@NAME@(path)`, which returns text.
    """

    names: tuple[str, ...]
    about: tuple[str, ...]
    files: tuple[str, ...]
    imports: tuple[str, ...]
    data: Callable[[Draws], str]
    source: str


_PARTS: Final = ("bolts", "cups", "lamps", "chairs", "cables", "tiles", "pens", "brushes", "hinges", "filters", "tapes")
_WORDS: Final = (
    *("harbour", "morning", "letter", "river", "garden", "winter", "bridge", "market", "window", "paper", "train"),
    *("island", "copper", "summer", "kitchen", "village", "lantern", "orchard", "station", "meadow", "ferry", "cloud"),
)
_PATHS: Final = ("/", "/index", "/search", "/login", "/style.css", "/about", "/orders", "/orders/new", "/feed", "/help")


def _rows(draws: Draws) -> int:
    return draws.pick((8, 15, 30, 60, 200, 500))


def _price(draws: Draws) -> str:
    return f"{draws.number(50, 9_900) / 100:.2f}"


def _orders(draws: Draws) -> str:
    lines = [
        f"{draws.date()},{draws.pick(NAMES)},{draws.pick(_PARTS)},{draws.number(1, 40)},{_price(draws)}"
        for _ in range(_rows(draws))
    ]
    return "\n".join(("date,customer,article,pieces,price", *sorted(lines))) + "\n"


def _requests(draws: Draws) -> str:
    codes = (200, 200, 200, 304, 404, 500)
    lines = [
        f"{draws.date()} {draws.number(0, 23):02}:{draws.number(0, 59):02} {draws.pick(_PATHS)} {draws.pick(codes)}"
        for _ in range(_rows(draws))
    ]
    return "\n".join(sorted(lines)) + "\n"


def _prose(draws: Draws) -> str:
    lines = [" ".join(draws.some(_WORDS, 6, 12)).capitalize() + "." for _ in range(_rows(draws))]
    return "\n".join(lines) + "\n"


def _stock(draws: Draws) -> str:
    parts = draws.some(_PARTS, 4, 11)
    entries = [f'  "{part}": {{"have": {draws.number(0, 90)}, "want": {draws.number(5, 60)}}}' for part in parts]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _settings(draws: Draws) -> str:
    return "".join(
        f"[{city.lower()}]\nopen = {draws.number(7, 10)}:00\nclose = {draws.number(15, 21)}:00\n"
        f"desk = {draws.pick(NAMES)}\n\n"
        for city in draws.some(CITIES, 3, 14)
    )


def _readings(draws: Draws) -> str:
    level = draws.number(40, 400)
    lines = [f"{level + draws.number(-25, 25) + draws.number(0, 99) / 100:.2f}" for _ in range(_rows(draws))]
    return "\n".join(lines) + "\n"


JOBS: Final = (
    Job(
        ("sales_report", "order_totals", "customer_sums"),
        ("Sums up orders by customer.", "Prints what each customer ordered."),
        ("orders.csv", "sales.csv"),
        ("collections", "csv"),
        _orders,
        '''def @NAME@(path):
    """Return one line for each customer: the sum of all orders."""
    totals = collections.defaultdict(float)
    with open(path, encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            totals[row["customer"]] += int(row["pieces"]) * float(row["price"])
    return "\\n".join(f"{name:12} {total:10.2f}" for name, total in sorted(totals.items()))
''',
    ),
    Job(
        ("article_table", "pieces_by_article", "article_counts"),
        ("Counts pieces by article.", "Shows how often each article was ordered."),
        ("orders.csv", "articles.csv"),
        ("csv",),
        _orders,
        '''def @NAME@(path):
    """Return a table of articles, the most wanted first."""
    counts = {}
    with open(path, encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        next(reader)
        for _, _, article, pieces, _ in reader:
            counts[article] = counts.get(article, 0) + int(pieces)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(article) for article in counts), default=0)
    return "\\n".join(f"{article.ljust(width)}  {count}" for article, count in ordered)
''',
    ),
    Job(
        ("log_summary", "status_counts", "request_overview"),
        ("Counts requests by status.", "Sums up a log of requests."),
        ("access.log", "requests.log"),
        ("collections",),
        _requests,
        '''def @NAME@(path):
    """Return how many requests ended with each status, and the busiest path."""
    statuses, paths = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            _, _, target, status = line.split()
            statuses[status] += 1
            paths[target] += 1
    lines = [f"{status}: {count}" for status, count in sorted(statuses.items())]
    busiest, count = paths.most_common(1)[0]
    return "\\n".join([*lines, f"busiest: {busiest} ({count})"])
''',
    ),
    Job(
        ("frequent_words", "word_table", "top_words"),
        ("Counts the words of a text.", "Prints the ten words that occur most."),
        ("text.txt", "diary.txt"),
        ("collections", "re"),
        _prose,
        '''def @NAME@(path, limit=10):
    """Return the most frequent words with their counts."""
    with open(path, encoding="utf-8") as stream:
        words = re.findall(r"[a-z]+", stream.read().lower())
    return "\\n".join(f"{count:5} {word}" for word, count in collections.Counter(words).most_common(limit))
''',
    ),
    Job(
        ("missing_parts", "stock_check", "what_to_order"),
        ("Says what has to be ordered.", "Compares the stock with what is wanted."),
        ("stock.json", "parts.json"),
        ("json",),
        _stock,
        '''def @NAME@(path):
    """Return the parts of which too few are there."""
    with open(path, encoding="utf-8") as stream:
        stock = json.load(stream)
    short = {part: entry["want"] - entry["have"] for part, entry in stock.items() if entry["want"] > entry["have"]}
    return "\\n".join(f"{part}: order {count}" for part, count in sorted(short.items())) or "nothing to order"
''',
    ),
    Job(
        ("opening_times", "branch_hours", "desk_plan"),
        ("Lists branches with their hours.", "Prints who sits at which desk, and when."),
        ("branches.ini", "desks.ini"),
        ("configparser",),
        _settings,
        '''def @NAME@(path):
    """Return one line for each branch."""
    parser = configparser.ConfigParser()
    with open(path, encoding="utf-8") as stream:
        parser.read_file(stream)
    lines = []
    for branch in sorted(parser.sections()):
        entry = parser[branch]
        lines.append(f"{branch.capitalize():12} {entry['open']} to {entry['close']}, {entry['desk']}")
    return "\\n".join(lines)
''',
    ),
    Job(
        ("moving_average", "smooth_readings", "level_report"),
        ("Smooths a series of readings.", "Prints the moving average of water levels."),
        ("readings.txt", "levels.txt"),
        ("statistics",),
        _readings,
        '''def @NAME@(path, width=5):
    """Return the averages of neighbouring readings and their range."""
    with open(path, encoding="utf-8") as stream:
        values = [float(line) for line in stream if line.strip()]
    means = [statistics.fmean(values[i : i + width]) for i in range(max(1, len(values) - width + 1))]
    head = f"{len(values)} readings from {min(values):.2f} to {max(values):.2f}"
    return "\\n".join([head, *(f"{mean:.2f}" for mean in means[-width:])])
''',
    ),
)
