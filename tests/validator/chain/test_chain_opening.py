"""The simulated chain comes by entry point; without one, start and doctor say what to install."""

from pathlib import Path

import pytest
from doctor_kit import Place, findings

from localnet.chain.simulated import SimulatedChain
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.chain.opening import NoSimulatorError, chain_of, reading_chain
from validator.settings.load import load_settings

SIGNER = Signer.from_uri("//Validator")


def test_the_installed_simulator_opens_it_and_a_reader_leaves_its_file(tmp_path: Path) -> None:
    place = Place.made(tmp_path)
    place.subnet()
    settings = load_settings(place.write(), place.environ)
    assert isinstance(chain_of(settings, SIGNER, SystemClock()), SimulatedChain)
    before = (tmp_path / "chain.json").read_bytes()
    assert isinstance(reading_chain(settings, SystemClock()), SimulatedChain)
    assert (tmp_path / "chain.json").read_bytes() == before


async def test_without_a_simulator_both_say_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = Place.made(tmp_path)
    place.subnet()
    settings = load_settings(place.write(), place.environ)
    monkeypatch.setattr("validator.chain.opening.entry_points", lambda *, group: () if group else None)
    with pytest.raises(NoSimulatorError, match="install sssa-localnet"):
        chain_of(settings, SIGNER, SystemClock())
    with pytest.raises(NoSimulatorError, match="install sssa-localnet"):
        reading_chain(settings, SystemClock())
    (fault,) = [one for one in findings(await place.examined("subnet")) if one.status == "fault"]
    assert "install sssa-localnet" in fault.seen
