"""One open transaction: a value with each repository, which callers get from `Store`."""

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.repositories.dispatches import Arrivals, Dispatches
from validator.store.repositories.miners import CapabilityDocuments, Flags, Miners, OperatorActs
from validator.store.repositories.operations import Chains, Drains, Retention
from validator.store.repositories.receipts import Receipts, Salts
from validator.store.repositories.records import Proofs, Records, Scores, Submissions
from validator.store.repositories.repository import Session
from validator.store.repositories.rounds import Rounds, Stalls
from validator.store.repositories.state import States
from validator.store.repositories.tasks import Bundles, GivenTasks, Groups, RetiredTasks, SubmittedSkills, Tasks
from validator.store.repositories.waiting_work import CodeChecks, Executions
from validator.store.repositories.weight_submissions import WeightGuard, WeightLinks, WeightSubmissions, WeightVectors
from validator.store.repositories.windows import Windows


class Transaction(Session):
    """A transaction: all its changes are committed together or not at all when its `async with` ends."""

    def __init__(self, connection: AsyncConnection) -> None:
        super().__init__(connection)
        self.chain = Chains(self)
        self.drains = Drains(self)
        self.miners = Miners(self)
        self.capabilities = CapabilityDocuments(self)
        self.salts = Salts(self)
        self.records = Records(self)
        self.rounds = Rounds(self)
        self.tasks = Tasks(self)
        self.given_tasks = GivenTasks(self)
        self.retired = RetiredTasks(self)
        self.submitted = SubmittedSkills(self)
        self.groups = Groups(self)
        self.bundles = Bundles(self)
        self.dispatches = Dispatches(self)
        self.arrivals = Arrivals(self)
        self.submissions = Submissions(self)
        self.stalls = Stalls(self)
        self.scores = Scores(self)
        self.state = States(self)
        self.flags = Flags(self)
        self.acts = OperatorActs(self)
        self.windows = Windows(self)
        self.vectors = WeightVectors(self)
        self.weight_links = WeightLinks(self)
        self.weights = WeightSubmissions(self)
        self.weight_guard = WeightGuard(self)
        self.proofs = Proofs(self)
        self.receipts = Receipts(self)
        self.executions = Executions(self)
        self.code_checks = CodeChecks(self)
        self.retention = Retention(self)
