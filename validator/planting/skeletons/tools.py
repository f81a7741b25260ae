"""The tools of MCP and Python skeletons: small pure functions on the standard library, without files or network."""

from typing import Any, Final, NamedTuple


class Tool(NamedTuple):
    """One tool; `source` defines a function `@NAME@` that takes the properties as keywords and returns text.

    Attributes:
        names: what it may be called.
        descriptions: what its manifest entry may say.
        properties: its input schema's properties, all of them required.
        example: arguments that it answers without an error.
        imports: modules of the standard library that the source uses.
        source: Python.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    properties: dict[str, dict[str, Any]]
    example: dict[str, Any]
    imports: tuple[str, ...]
    source: str


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "number", "description": description}


def _integer(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


def _numbers(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "number"}, "description": description}


TOOLS: Final = (
    Tool(
        ("word_count", "count_words", "text_length"),
        ("Counts the words of a text.", "Says how many words a text has."),
        {"text": _text("The text to count.")},
        {"text": "five boats left the harbour"},
        (),
        '''def @NAME@(text):
    """Return the number of words."""
    return str(len(text.split()))
''',
    ),
    Tool(
        ("slugify", "make_slug", "title_to_slug"),
        ("Turns a title into a short name for addresses.", "Makes a lower-case slug from a title."),
        {"title": _text("The title.")},
        {"title": "A Day at the Lake"},
        ("re",),
        '''def @NAME@(title):
    """Return the title in lower case, words joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
''',
    ),
    Tool(
        ("convert_temperature", "celsius_to_fahrenheit", "to_fahrenheit"),
        ("Converts degrees Celsius to Fahrenheit.", "Gives a Celsius temperature in Fahrenheit."),
        {"celsius": _number("Degrees Celsius.")},
        {"celsius": 21.5},
        (),
        '''def @NAME@(celsius):
    """Return the temperature in degrees Fahrenheit."""
    return f"{celsius * 9 / 5 + 32:.1f} F"
''',
    ),
    Tool(
        ("days_between", "date_difference", "count_days"),
        ("Counts the days between two dates.", "Says how many days lie between two days."),
        {"start": _text("First day, YYYY-MM-DD."), "end": _text("Last day, YYYY-MM-DD.")},
        {"start": "2024-02-27", "end": "2024-03-02"},
        ("datetime",),
        '''def @NAME@(start, end):
    """Return the number of days from start to end."""
    first = datetime.date.fromisoformat(start)
    last = datetime.date.fromisoformat(end)
    return str((last - first).days)
''',
    ),
    Tool(
        ("mean_and_median", "summarize_numbers", "describe_numbers"),
        ("Gives mean and median of a list of numbers.", "Summarises a list of numbers."),
        {"values": _numbers("The numbers.")},
        {"values": [3, 5, 8.5]},
        ("statistics",),
        '''def @NAME@(values):
    """Return mean and median."""
    if not values:
        return "no values"
    return f"mean {statistics.fmean(values):.3f}, median {statistics.median(values):.3f}"
''',
    ),
    Tool(
        ("roman_numeral", "to_roman", "number_to_roman"),
        ("Writes a number in Roman numerals.", "Converts a whole number to Roman numerals."),
        {"number": _integer("1 to 3999.")},
        {"number": 1987},
        (),
        '''def @NAME@(number):
    """Return the number in Roman numerals."""
    if not 0 < number < 4000:
        raise ValueError("the number must be from 1 to 3999")
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    letters = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")
    parts = []
    for value, letter in zip(values, letters):
        times, number = divmod(number, value)
        parts.append(letter * times)
    return "".join(parts)
''',
    ),
    Tool(
        ("wrap_text", "fold_lines", "reflow"),
        ("Wraps a text at a given width.", "Breaks a text into lines of limited length."),
        {"text": _text("The text."), "width": _integer("Characters in a line.")},
        {"text": "one two three four five six seven", "width": 12},
        ("textwrap",),
        '''def @NAME@(text, width):
    """Return the text with line breaks."""
    return textwrap.fill(text, width=max(8, width))
''',
    ),
    Tool(
        ("hex_to_rgb", "color_parts", "parse_color"),
        ("Splits a hexadecimal colour into red, green and blue.", "Reads a colour such as #3a7bd5."),
        {"color": _text("Six hexadecimal digits, with or without #.")},
        {"color": "#3a7bd5"},
        (),
        '''def @NAME@(color):
    """Return the three parts of a colour."""
    digits = color.lstrip("#")
    if len(digits) != 6:
        raise ValueError("a colour has six digits")
    red, green, blue = (int(digits[i : i + 2], 16) for i in (0, 2, 4))
    return f"red {red}, green {green}, blue {blue}"
''',
    ),
    Tool(
        ("unit_price", "price_per_kilo", "compare_price"),
        ("Works out the price of a kilogram.", "Gives the price per kilogram of a package."),
        {"price": _number("Price of the package."), "grams": _number("Weight in grams.")},
        {"price": 2.49, "grams": 350},
        (),
        '''def @NAME@(price, grams):
    """Return the price of one kilogram."""
    if grams <= 0:
        raise ValueError("the weight must be positive")
    return f"{price / grams * 1000:.2f} per kg"
''',
    ),
    Tool(
        ("prime_factors", "factorize", "factor_number"),
        ("Splits a whole number into prime factors.", "Gives the prime factors of a number up to a million."),
        {"number": _integer("2 to 1000000.")},
        {"number": 5040},
        (),
        '''def @NAME@(number):
    """Return the prime factors, smallest first."""
    number = int(number)
    if not 1 < number <= 1_000_000:
        raise ValueError("the number must be from 2 to 1000000")
    factors, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return " x ".join(map(str, factors))
''',
    ),
    Tool(
        ("sort_lines", "order_lines", "unique_lines"),
        ("Sorts the lines of a text and drops repeated ones.", "Puts lines in alphabetical order, each once."),
        {"text": _text("Lines of text.")},
        {"text": "pear\napple\npear"},
        (),
        '''def @NAME@(text):
    """Return the different lines in order."""
    return "\\n".join(sorted(set(text.splitlines())))
''',
    ),
    Tool(
        ("loan_rate", "monthly_payment", "installment"),
        ("Works out the monthly payment of a loan.", "Gives the instalment for a loan with fixed interest."),
        {
            "amount": _number("Amount borrowed."),
            "percent": _number("Interest for a year, in percent."),
            "months": _integer("Number of payments."),
        },
        {"amount": 12000, "percent": 3.5, "months": 48},
        (),
        '''def @NAME@(amount, percent, months):
    """Return what has to be paid each month."""
    if months < 1:
        raise ValueError("at least one month")
    rate = percent / 1200
    factor = rate / (1 - (1 + rate) ** -months) if rate else 1 / months
    return f"{amount * factor:.2f} a month"
''',
    ),
)
