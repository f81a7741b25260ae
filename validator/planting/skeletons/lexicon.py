"""What knowledge skeletons talk about: places that lend, teach, feed or sell, with their things, people and rules."""

from typing import Final, NamedTuple


class Subject(NamedTuple):
    """One subject of a body of knowledge.

    Attributes:
        names: what its bundle may be called.
        about: what its manifest says.
        things: singular and plural.
        people: who answers.
        acts: what visitors do, after "to".
        rooms: where.
        facts: sentences that belong here only.
    """

    names: tuple[str, ...]
    about: str
    things: tuple[tuple[str, str], ...]
    people: tuple[str, ...]
    acts: tuple[str, ...]
    rooms: tuple[str, ...]
    facts: tuple[str, ...]


SUBJECTS: Final = (
    Subject(
        ("tool-library", "lending-desk", "borrow-and-mend"),
        "Rules and prices of a library of tools.",
        (
            ("drill", "drills"),
            ("ladder", "ladders"),
            ("sander", "sanders"),
            ("hedge trimmer", "hedge trimmers"),
            ("saw", "saws"),
        ),
        ("the desk", "the workshop lead", "a volunteer"),
        ("borrow a tool", "report a broken handle", "extend a loan", "join the repair evening"),
        ("the front shelf", "the yard", "the workshop", "the cellar"),
        (
            "Batteries are handed out charged and come back empty without a fee.",
            "Blades wear; a blunt one is nobody's fault.",
            "Power tools are shown once before they leave the house.",
        ),
    ),
    Subject(
        ("sailing-club-handbook", "harbour-club", "club-boats"),
        "What members of a sailing club ask most.",
        (
            ("dinghy", "dinghies"),
            ("life jacket", "life jackets"),
            ("berth", "berths"),
            ("trailer", "trailers"),
            ("mooring", "moorings"),
        ),
        ("the harbour master", "the club secretary", "the duty skipper"),
        ("take out a boat", "reserve a berth", "enter a regatta", "leave early in the season"),
        ("the east pier", "the boat shed", "the club room", "the slipway"),
        (
            "Above five Beaufort the small boats stay on land.",
            "High water comes about fifty minutes later each day.",
            "Ropes are rinsed with fresh water after every trip.",
        ),
    ),
    Subject(
        ("school-canteen", "lunch-questions", "canteen-guide"),
        "Menus, orders and allergies in a school canteen.",
        (("meal", "meals"), ("tray", "trays"), ("voucher", "vouchers"), ("snack", "snacks"), ("menu", "menus")),
        ("the kitchen", "the canteen manager", "the front desk"),
        ("order lunch", "cancel a meal", "name an allergy", "ask for a second helping"),
        ("the large hall", "the counter", "the terrace", "the quiet corner"),
        (
            "Soup is free of milk on every second day.",
            "Nuts are not used in the kitchen, but traces cannot be ruled out.",
            "Water stands on every table.",
        ),
    ),
    Subject(
        ("museum-visits", "gallery-desk", "museum-faq"),
        "Opening times, tours and tickets of a small museum.",
        (
            ("ticket", "tickets"),
            ("audio guide", "audio guides"),
            ("locker", "lockers"),
            ("tour", "tours"),
            ("exhibit", "exhibits"),
        ),
        ("the cash desk", "the education team", "a guard"),
        ("book a tour", "visit with a school class", "take photographs", "leave a bag"),
        ("the entrance hall", "the first floor", "the garden", "the reading room"),
        (
            "Flash light harms old paper and stays off.",
            "The lift carries eight people or one wheelchair with company.",
            "Drawings change every four months, because light fades them.",
        ),
    ),
    Subject(
        ("bicycle-workshop", "bike-repairs", "spoke-and-chain"),
        "Repairs, parts and waiting times of a bicycle workshop.",
        (("wheel", "wheels"), ("chain", "chains"), ("brake", "brakes"), ("saddle", "saddles"), ("lamp", "lamps")),
        ("the mechanic", "the shop", "an apprentice"),
        ("leave a bicycle", "order a part", "change a tyre", "have the gears set"),
        ("the stand by the window", "the back room", "the courtyard", "the counter"),
        (
            "A chain lasts two to four thousand kilometres.",
            "Brake pads are changed before the groove is gone.",
            "A new cable stretches within the first weeks and is set again for nothing.",
        ),
    ),
    Subject(
        ("allotment-garden", "garden-rules", "plot-holders"),
        "What holders of a plot in an allotment garden should know.",
        (
            ("plot", "plots"),
            ("shed", "sheds"),
            ("water butt", "water butts"),
            ("hedge", "hedges"),
            ("compost heap", "compost heaps"),
        ),
        ("the warden", "the committee", "the neighbour on duty"),
        ("take over a plot", "build a shed", "burn cuttings", "keep bees"),
        ("the gate", "the meeting hut", "the tool shed", "the orchard"),
        (
            "Beans follow potatoes, never the other way round.",
            "Rain water is shared; hoses run before nine and after six.",
            "Hedges are cut by hand while birds nest.",
        ),
    ),
    Subject(
        ("swimming-pool", "pool-desk", "lane-times"),
        "Lanes, courses and rules of an indoor pool.",
        (
            ("lane", "lanes"),
            ("course", "courses"),
            ("cap", "caps"),
            ("season card", "season cards"),
            ("cabin", "cabins"),
        ),
        ("the attendant", "the cash desk", "the course leader"),
        ("join a course", "rent a lane", "bring children", "store a wheelchair"),
        ("the shallow end", "the gallery", "the entrance", "the warm pool"),
        (
            "The water is measured three times a day.",
            "Slow swimmers keep to the outer lanes.",
            "Thunder outside changes nothing inside.",
        ),
    ),
    Subject(
        ("choir-folder", "choir-questions", "singers-guide"),
        "Rehearsals, scores and concerts of a choir.",
        (
            ("score", "scores"),
            ("folder", "folders"),
            ("rehearsal", "rehearsals"),
            ("concert", "concerts"),
            ("chair", "chairs"),
        ),
        ("the conductor", "the librarian", "the treasurer"),
        ("miss a rehearsal", "borrow a score", "audition", "bring a guest"),
        ("the chapel", "the music room", "the foyer", "the balcony"),
        (
            "Pencils only: scores are lent and go back clean.",
            "Basses stand behind the altos, except in the chapel.",
            "Warming up takes twelve minutes and is not optional.",
        ),
    ),
    Subject(
        ("mountain-hut", "hut-keeper", "hut-guide"),
        "Beds, meals and paths around a mountain hut.",
        (
            ("bed", "beds"),
            ("blanket", "blankets"),
            ("boot rack", "boot racks"),
            ("packed lunch", "packed lunches"),
            ("map", "maps"),
        ),
        ("the keeper", "the kitchen", "the rescue post"),
        ("reserve a bed", "dry wet boots", "cross the glacier", "leave a message"),
        ("the dormitory", "the drying room", "the terrace", "the old stable"),
        (
            "Afternoon storms are common in July; start before six.",
            "The spring behind the hut runs dry in late summer.",
            "The path along the ridge is chained in two places.",
        ),
    ),
    Subject(
        ("parcel-shop", "shop-and-post", "counter-questions"),
        "Parcels, stamps and opening times of a corner shop.",
        (("parcel", "parcels"), ("stamp", "stamps"), ("label", "labels"), ("box", "boxes"), ("receipt", "receipts")),
        ("the counter", "the owner", "the driver"),
        ("collect a parcel", "send a letter abroad", "print a label", "change an address"),
        ("the counter", "the shelf behind the door", "the store room", "the yellow box"),
        (
            "Unclaimed parcels go back after seven working days.",
            "Labels fade in the sun and are then typed by hand.",
            "Two people may share one key to a locker.",
        ),
    ),
)

SENTENCES: Final = (
    "{Things} are kept in {room}.",
    "Whoever wants to {act} asks {who} by {day} noon.",
    "On {day}s {who} is there from {hour}:00 to {later}:00.",
    "One {thing} costs {price} euros a week; members pay {less}.",
    "Please bring the {thing} back within {n} days.",
    "At most {n} {things} go to one household.",
    "To {act}, fill in the form that lies in {room}.",
    "{Who} keeps a list of all {things} and checks it every {day}.",
    "A deposit of {price} euros is taken for each {thing} and paid back at its return.",
    "Lost {things} are replaced at cost, up to {big} euros.",
    "If no {thing} is free, {who} writes down your name and calls back within {n} days.",
    "Since {date} it has been possible to {act} without waiting.",
    "In {room} there is room for {n} people.",
    "Children under {n} need company when they {act}.",
    "Questions about {things} are answered by {who}, on {day}s also by telephone.",
    "The last check of the {things} was on {date}.",
    "Who wishes to {act} comes to {room} at {hour}:30.",
    "{n} of our {things} are older than {m} years and still in use.",
    "{name} from {city} gave us {n} {things} in the year before last.",
    "From November to March {room} closes at {hour}:00.",
    "Groups of more than {n} tell {who} {m} days ahead.",
    "It takes about {m} minutes to {act}.",
)
QUESTIONS: Final = (
    ("How do I {act}?", "Ask {who} by {day} noon, or fill in the form in {room}."),
    ("What does a {thing} cost?", "{price} euros a week, {less} for members."),
    ("Where are the {things}?", "In {room}, on the left."),
    ("When is {who} there?", "On {day}s from {hour}:00 to {later}:00."),
    ("Can I {act} on a {day}?", "Yes, from {hour}:00 on."),
    ("What if I lose a {thing}?", "Tell {who}; a new one costs up to {big} euros."),
    ("How many {things} may I have?", "At most {n} at a time."),
    ("How long does it take to {act}?", "About {m} minutes, longer on {day}s."),
    ("Is there a deposit?", "Yes, {price} euros for each {thing}."),
    ("Who gave you the {things}?", "{name} from {city} did, on {date}."),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
