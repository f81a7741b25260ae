"""What operators ask for, as plain values: read in one transaction, printed by the command line.

The field names are what `--json` shows, so they are part of the interface.
"""

from validator.audit.views.checks import CheckList, CheckView, check_list, check_of
from validator.audit.views.executions import (
    ExecutionList,
    ExecutionView,
    ResultView,
    execution_list,
    execution_of,
    executions_of_miner,
)
from validator.audit.views.faults import FaultList, FaultShare, FinderView, fault_list
from validator.audit.views.flags import FlagDetailView, FlagView, flag_details, flag_list
from validator.audit.views.miners import MinerView, miner_list
from validator.audit.views.rounds import (
    ExclusionView,
    ReputationView,
    RoundView,
    TaskView,
    round_list,
    round_view,
)
from validator.audit.views.weights import WeightLine, WeightsView, latest_weights

__all__ = [
    "CheckList",
    "CheckView",
    "ExclusionView",
    "ExecutionList",
    "ExecutionView",
    "FaultList",
    "FaultShare",
    "FinderView",
    "FlagDetailView",
    "FlagView",
    "MinerView",
    "ReputationView",
    "ResultView",
    "RoundView",
    "TaskView",
    "WeightLine",
    "WeightsView",
    "check_list",
    "check_of",
    "execution_list",
    "execution_of",
    "executions_of_miner",
    "fault_list",
    "flag_details",
    "flag_list",
    "latest_weights",
    "miner_list",
    "round_list",
    "round_view",
]
