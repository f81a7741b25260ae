"""What a damaged or a changed store shows without scoring anything again (`validator db check`)."""

from validator.store.checking.check import FAULTS_SHOWN, Check
from validator.store.checking.running import checks

__all__ = ["FAULTS_SHOWN", "Check", "checks"]
