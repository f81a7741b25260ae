"""The phrases that declarative skeletons are made of: plain office and kitchen matters, nothing that asks for trust."""

from typing import Final, NamedTuple


class Topic(NamedTuple):
    """What one kind of skill may say; examples hold `{a}`, `{b}`, `{city}`, `{date}`, `{n}`, `{m}`, `{big}`."""

    names: tuple[str, ...]
    purposes: tuple[str, ...]
    occasions: tuple[str, ...]
    steps: tuple[str, ...]
    rules: tuple[str, ...]
    examples: tuple[str, ...]
    changes: tuple[str, ...]


NAMES: Final = (
    *("Amara", "Bastian", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Keiko", "Lorenzo"),
    *("Maren", "Noor", "Oskar", "Paloma", "Quentin", "Rosa", "Sanjay", "Tove", "Usha", "Vera", "Wim", "Yusuf"),
)
CITIES: Final = (
    *("Porto", "Ghent", "Tallinn", "Bologna", "Graz", "Aarhus", "Split", "Nantes", "Leiden", "Bergen", "Cork"),
    *("Krakow", "Valencia", "Turku", "Basel", "Lublin", "Trieste", "Malmo", "Utrecht", "Bilbao", "Zadar"),
)
COMMON_RULES: Final = (
    "Keep sentences short.",
    "Prefer common words to technical ones.",
    "Say plainly when something is not known.",
    "Keep the language of the input.",
    "Use the reader's units and date format.",
    "Leave out praise and filler.",
    "Numbers are written as digits.",
)

TOPICS: Final = (
    Topic(
        names=("meeting-minutes", "minutes-writer", "meeting-notes"),
        purposes=("Turns rough meeting notes into minutes.", "Writes clear minutes from the notes of a meeting."),
        occasions=(
            "It suits weekly team meetings as well as longer workshops.",
            "Use it after a call, while the notes are still fresh.",
            "Helpful when several people took notes of the same meeting.",
        ),
        steps=(
            "List who took part, in alphabetical order.",
            "Group the notes by subject.",
            "Write one short paragraph for each subject.",
            "Collect the decisions in a list of their own.",
            "For every task, name the person and the day it is due.",
            "Mark what was left open.",
            "End with the date of the next meeting.",
            "Merge points that were raised twice.",
        ),
        rules=(
            "Do not quote people word for word.",
            "Leave out small talk.",
            "Use the past tense.",
            "A decision is one sentence.",
        ),
        examples=(
            "Decision of {date}: {a} orders {n} chairs for the office in {city}; {b} checks the invoice {big}.",
            "Open point: {a} and {b} still have to choose a room for {m} guests in {city} on {date}.",
            "Task: {b} sends the draft of report {big} to {a} by {date}.",
        ),
        changes=("Tasks now name a due date.", "Shorter paragraphs.", "Open points have their own list.", "Typos."),
    ),
    Topic(
        names=("commit-message-helper", "commit-messages", "commit-style"),
        purposes=("Writes commit messages from a diff.", "Suggests a commit message for a set of changes."),
        occasions=(
            "Use it before committing a finished change.",
            "It suits repositories that follow a common message style.",
            "Meant for small commits that do one thing.",
        ),
        steps=(
            "Read the diff from top to bottom.",
            "Name the one thing that changes for the user.",
            "Write a subject line of at most 60 characters.",
            "Leave a blank line after the subject.",
            "Explain the reason in the body, not the code.",
            "Mention the ticket number at the end.",
            "Suggest a split when the change does two things.",
        ),
        rules=(
            "Begin the subject with a verb in the imperative.",
            "No full stop after the subject.",
            "Wrap the body at 72 characters.",
            "Do not list the files that changed.",
        ),
        examples=(
            "Round totals to cents in report {big} (asked for by {a}).",
            "Show at most {n} rows on the start page; {b} measured {m} ms less on {date}.",
            "Sort stations by distance from {city} instead of by number, see ticket {big}.",
        ),
        changes=("Subject limit is now 60.", "Suggests splits.", "Fewer words.", "New example."),
    ),
    Topic(
        names=("release-notes", "release-notes-writer", "whats-new"),
        purposes=("Writes release notes for users.", "Turns a list of merged changes into release notes."),
        occasions=(
            "Use it on the day before a release.",
            "It expects one line for each change.",
            "Good for products with users who are not developers.",
        ),
        steps=(
            "Drop changes that users cannot notice.",
            "Sort what is left into new, better and repaired.",
            "Write one line for each change.",
            "Put what most users will notice first.",
            "Name settings that got another default.",
            "Thank people who reported a problem.",
            "Add a line about what comes next.",
        ),
        rules=(
            "Speak to the reader directly.",
            "No internal names of modules.",
            "Each line begins with a verb.",
            "At most twelve lines in all.",
        ),
        examples=(
            "New: export up to {m} entries at once. Thanks to {a} from {city}.",
            "Repaired: order {big} no longer shows the wrong date ({date}).",
            "Better: lists of more than {n} items open twice as fast, as {b} wished.",
        ),
        changes=("Twelve lines at most.", "Three groups instead of four.", "Thanks are optional.", "Wording."),
    ),
    Topic(
        names=("recipe-scaler", "recipe-portions", "portion-planner"),
        purposes=("Scales a recipe to another number of portions.", "Rewrites a recipe for more or fewer guests."),
        occasions=(
            "Use it for cooking and baking alike.",
            "Handy before shopping for a larger group.",
            "It works best with recipes in metric units.",
        ),
        steps=(
            "Find out for how many people the recipe was written.",
            "Work out the factor for the wanted number of guests.",
            "Multiply every amount and round it sensibly.",
            "Adjust the size of the pan or tin.",
            "Check the baking time against the new size.",
            "Give spices a smaller factor than the rest.",
            "List what has to be bought.",
        ),
        rules=(
            "Eggs are whole numbers.",
            "Round grams to the nearest five.",
            "Keep the order of the original.",
            "Say which steps can be done a day earlier.",
        ),
        examples=(
            "{a} cooks for {n} people in {city}: {big} g of flour become {m} portions.",
            "For {m} guests on {date}, {b} needs {n} eggs and two trays.",
            "Soup for {n}: {a} halves the salt first and tastes before adding the rest.",
        ),
        changes=("Spices scale more slowly.", "Shopping list added.", "Tin sizes.", "Rounds grams."),
    ),
    Topic(
        names=("bug-report-triage", "issue-sorter", "ticket-triage"),
        purposes=("Sorts incoming bug reports.", "Summarises a bug report and suggests where it belongs."),
        occasions=(
            "Use it for the morning round through new tickets.",
            "It suits teams with a handful of components.",
            "Meant to prepare a decision, not to take it.",
        ),
        steps=(
            "Sum the report up in one sentence.",
            "Write down the steps that lead to the fault.",
            "Separate what was expected from what happened.",
            "Name the version and the platform.",
            "Suggest a component and a priority.",
            "Look for an older ticket about the same fault.",
            "Ask for what is missing, one question at a time.",
        ),
        rules=(
            "Thank the reporter once.",
            "Do not guess at causes.",
            "Priority one is for faults that lose data.",
            "Quote error messages unchanged.",
        ),
        examples=(
            "Ticket {big}: printing more than {n} pages stops at page {m}; reported by {a} on {date}.",
            "Ticket {big}: the map of {city} is empty after {n} seconds. Priority two, for {b}.",
            "Question for {a}: does it also happen with fewer than {m} rows?",
        ),
        changes=("One question at a time.", "Priority guide.", "Looks for duplicates.", "Clearer summary."),
    ),
    Topic(
        names=("travel-itinerary", "trip-planner", "day-trip-notes"),
        purposes=("Plans a short trip day by day.", "Arranges sights and meals into a day plan."),
        occasions=(
            "Use it for trips of one to five days.",
            "It suits travellers who walk and take trains.",
            "Works with a list of places and opening hours.",
        ),
        steps=(
            "Note arrival and departure first.",
            "Group places that lie close together.",
            "Put at most three larger sights into one day.",
            "Leave an hour for lunch.",
            "Check opening hours and closing days.",
            "Add the walking time between two places.",
            "Offer one choice for rainy weather.",
        ),
        rules=(
            "Times use the 24-hour clock.",
            "Prices are estimates and marked as such.",
            "Mornings for museums, evenings for views.",
            "Keep every day on half a page.",
        ),
        examples=(
            "{date}, {city}: {n} stalls at the market, lunch with {a}, then {m} minutes on foot to the harbour.",
            "{a} and {b} take train {big} to {city} and arrive after {m} minutes.",
            "Rain plan for {city}: the museum holds {big} pieces; {b} sets aside {n} minutes for the first floor.",
        ),
        changes=("Rain plan.", "Walking times added.", "Three sights a day.", "Lunch is fixed now."),
    ),
    Topic(
        names=("customer-reply-drafts", "reply-writer", "friendly-replies"),
        purposes=("Drafts replies to customer questions.", "Writes a polite first draft of a reply to a customer."),
        occasions=(
            "A person reads every draft before it goes out.",
            "Use it for questions about orders and deliveries.",
            "It suits small shops with returning customers.",
        ),
        steps=(
            "Find the question behind the message.",
            "Greet the customer by name.",
            "Answer the question in the first sentence.",
            "Add one sentence of background where it helps.",
            "Say what happens next and when.",
            "Offer a way to ask again.",
            "Close with a friendly line.",
        ),
        rules=(
            "Apologise once, and only for our own mistakes.",
            "Promise nothing about dates that are not confirmed.",
            "No exclamation marks.",
            "Between three and eight sentences.",
        ),
        examples=(
            "Dear {a}, your order {big} left {city} on {date} and takes about {n} hours from there.",
            "Dear {b}, of the {m} cups you ordered {n} are still on their way; we expect them on {date}.",
            "Dear {a}, thank you for asking: parcel {big} waits for you at the shop in {city}.",
        ),
        changes=("Shorter closings.", "Answer comes first.", "Fewer apologies.", "Eight sentences at most."),
    ),
    Topic(
        names=("table-describer", "csv-summary", "dataset-notes"),
        purposes=("Describes a table of data in words.", "Writes a short description of the columns of a table."),
        occasions=(
            "Use it before a data set is shared with others.",
            "It expects the header line and some rows.",
            "Good for tables with up to forty columns.",
        ),
        steps=(
            "Count rows and columns.",
            "Say for each column what it holds and in which unit.",
            "Name the smallest and the largest value.",
            "Point out columns with many gaps.",
            "Point out columns that always hold the same value.",
            "Suggest clearer column names.",
            "Close with two questions the table can answer.",
        ),
        rules=(
            "Describe, do not interpret.",
            "One line per column.",
            "Round to three significant digits.",
            "Dates are given as they stand.",
        ),
        examples=(
            "Table {big}: {n} columns, {m} rows, collected by {a} in {city} until {date}.",
            "Column 'height': between {n} and {m} cm, {big} values, none missing.",
            "Question for {b}: why does the series from {city} end on {date}?",
        ),
        changes=("Gaps are counted.", "Units in brackets.", "Two closing questions.", "Rounds to three digits."),
    ),
)
