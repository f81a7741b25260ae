"""One transaction, as its repositories."""

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.packing import Packing
from validator.store.repositories.acts import OperatorActs
from validator.store.repositories.archives import Archives
from validator.store.repositories.arrivals import Arrivals
from validator.store.repositories.bundles import Bundles
from validator.store.repositories.capabilities import CapabilityDocuments
from validator.store.repositories.chains import Chains
from validator.store.repositories.dispatches import Dispatches
from validator.store.repositories.drains import Drains
from validator.store.repositories.flags import Flags
from validator.store.repositories.given_tasks import GivenTasks
from validator.store.repositories.groups import Groups
from validator.store.repositories.miners import Miners
from validator.store.repositories.proofs import Proofs
from validator.store.repositories.receipts import Receipts
from validator.store.repositories.records import Records
from validator.store.repositories.retention import Retention
from validator.store.repositories.retired import RetiredTasks
from validator.store.repositories.rounds import Rounds
from validator.store.repositories.salts import Salts
from validator.store.repositories.scores import Scores
from validator.store.repositories.stalls import Stalls
from validator.store.repositories.state import States
from validator.store.repositories.submissions import Submissions
from validator.store.repositories.tasks import Tasks
from validator.store.repositories.vectors import WeightVectors
from validator.store.repositories.waiting import CodeChecks, Executions
from validator.store.repositories.weight_guard import WeightGuard
from validator.store.repositories.weight_links import WeightLinks
from validator.store.repositories.weights import WeightSubmissions
from validator.store.repositories.windows import Windows


class Transaction:
    """Everything done through it is committed together or not at all; it ends with its `async with`.

    Args:
        connection: inside a transaction.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        packing = Packing()  # remembers what was read last
        self.connection = connection
        self.packing = packing
        self.chain = Chains(connection, packing)
        self.drains = Drains(connection, packing)
        self.miners = Miners(connection, packing)
        self.capabilities = CapabilityDocuments(connection, packing)
        self.salts = Salts(connection, packing)
        self.records = Records(connection, packing)
        self.rounds = Rounds(connection, packing)
        self.tasks = Tasks(connection, packing)
        self.given_tasks = GivenTasks(connection, packing)
        self.retired = RetiredTasks(connection, packing)
        self.groups = Groups(connection, packing)
        self.bundles = Bundles(connection, packing)
        self.dispatches = Dispatches(connection, packing)
        self.arrivals = Arrivals(connection, packing)
        self.submissions = Submissions(connection, packing)
        self.stalls = Stalls(connection, packing)
        self.scores = Scores(connection, packing)
        self.state = States(connection, packing)
        self.flags = Flags(connection, packing)
        self.acts = OperatorActs(connection, packing)
        self.windows = Windows(connection, packing)
        self.vectors = WeightVectors(connection, packing)
        self.weight_links = WeightLinks(connection, packing)
        self.weights = WeightSubmissions(connection, packing)
        self.weight_guard = WeightGuard(connection, packing)
        self.proofs = Proofs(connection, packing)
        self.receipts = Receipts(connection, packing)
        self.executions = Executions(connection, packing)
        self.code_checks = CodeChecks(connection, packing)
        self.retention = Retention(connection, packing)
        self.archives = Archives(connection, packing)
