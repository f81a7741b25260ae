"""The parts of a check by name. Light: the command's options import it."""

from enum import StrEnum


class Section(StrEnum):
    """What a request is about: findings, waiting and hurrying, the largest bundle, goals, what no validator sends."""

    ANSWERS = "answers"
    WINDOWS = "windows"
    LIMITS = "limits"
    PLANS = "plans"
    STRANGERS = "strangers"
