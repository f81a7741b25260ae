"""`python -m soak.daemon CONFIG`: `validator run`, but canaries have the windows of the soak's other tasks."""

import sys
from dataclasses import replace
from pathlib import Path

from localnet.library import WINDOWS
from soak.process_memory import tell
from soak.site import Site
from sssa.protocol.skill_types import SkillType
from taskmaker.canary import Canaries, is_harmless
from validator.cli.session import settings_of
from validator.daemon.main import run_daemon
from validator.daemon.signals import Signals
from validator.daemon.world import World, build_world
from validator.settings.model import Settings
from validator.tasks.source import SourcedTask


def main(config: Path) -> int:
    """Run the daemon; return its exit code."""
    signals, site = Signals(), Site(config.parent)
    signals.listen()

    def build(settings: Settings) -> World:
        tell(site.inside)  # a thread, which the daemon starts none before
        world = build_world(settings)

        maker = Canaries(world.random, windows=WINDOWS)

        async def make(skill_type: SkillType) -> SourcedTask | None:
            made = await maker.make(skill_type)
            if made is not None and is_harmless(made):  # what was planted is not run
                with site.canaries.open("a") as file:
                    file.write(f"{made.task.bundle_sha256}\n")
            return made

        return replace(world, canary=make)

    return run_daemon(settings_of(config), signals, build)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
