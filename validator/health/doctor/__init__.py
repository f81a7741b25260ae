"""What keeps a validator from its work, before an operator asks: `validator doctor`.

A check looks at one subject and tells findings, each with what was seen and what to do. All run at once, each with a
time limit. None takes the writer's lock, and none leaves anything behind: a validator may be running.
"""

from validator.health.doctor.diagnosis import Diagnosis, diagnose
from validator.health.doctor.finding import Check, Examined, Finding, Status
from validator.health.doctor.site import LIMITS, Limits

__all__ = ["LIMITS", "Check", "Diagnosis", "Examined", "Finding", "Limits", "Status", "diagnose"]
