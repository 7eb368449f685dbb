"""Campaigns on a real Ray cluster of two workers on this machine; `make test-ray` runs this in an
environment of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray: Any = pytest.importorskip("ray", reason="Ray has an environment of its own: make test-ray")

from skidpad import InvalidValue  # noqa: E402
from skidpad.random.factors import Range  # noqa: E402
from skidpad.study.campaign import Campaign  # noqa: E402
from skidpad.study.designs import Random  # noqa: E402
from skidpad.study.engines import RayEngine  # noqa: E402
from skidpad.study.plan_file import campaign_of  # noqa: E402
from skidpad.study.results import Study  # noqa: E402
from study.small_experiments import Bowl  # noqa: E402


def bowl(**settings: Any) -> Campaign:
    factors = {"a": Range(-1.0, 1.0), "b": Range(0.0, 1.0)}
    return Campaign(experiment=Bowl(**settings), factors=factors, design=Random(3000), seed=4)


class Unused:
    def write_part(self, begin: int, end: int, columns: Any) -> None:
        raise AssertionError("nothing is shared")


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the campaign in one process."""
    return bowl().run(tmp_path_factory.mktemp("local"), progress=False).digest()


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    engine = RayEngine(workers=2)
    engine.start(Bowl(), Unused())
    yield
    engine.close()
    assert not ray.is_initialized()


def test_a_cluster_gives_the_bits_of_one_process(digest: str, tmp_path: Path) -> None:
    assert bowl().run(tmp_path, engine="ray", progress=False).digest() == digest


def test_workers_write_to_a_shared_place(digest: str, tmp_path: Path) -> None:
    engine = RayEngine(shared=True)
    assert bowl().run(f"file://{tmp_path}/folder", engine=engine, progress=False).digest() == digest


def test_a_worker_that_is_killed_loses_its_chunk_alone(digest: str, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    campaign = bowl(dies_once=str(poison), pause=0.05)
    study = campaign.run(tmp_path / "folder", engine="ray", chunk_seconds=0.1, progress=False)
    assert not poison.exists()
    assert study.digest() == digest


def test_ctrl_c_leaves_a_campaign_that_goes_on(digest: str, tmp_path: Path) -> None:
    done = 0

    def press(count: float, total: float) -> None:
        nonlocal done
        done += 1
        if done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="run it again to continue"):
        bowl(pause=0.05).run(tmp_path, engine="ray", chunk_seconds=0.1, progress=press)
    assert 0 < Study.open(tmp_path).runs < 3000
    assert bowl().run(tmp_path, engine="ray", progress=False).digest() == digest


def test_what_a_run_raises_is_told(tmp_path: Path) -> None:
    campaign = bowl(raises="no such road")
    with pytest.raises(InvalidValue, match="no such road"):
        campaign.run(tmp_path, engine="ray", progress=False)


def test_it_listens_to_this_machine_alone() -> None:
    (node,) = ray.nodes()
    assert node["NodeManagerAddress"] == "127.0.0.1"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    outside = socket.gethostbyname(socket.gethostname())
    address = ray.get_runtime_context().gcs_address
    assert address.startswith("127.0.0.1:")
    if not outside.startswith("127."):
        with socket.socket() as probe:
            probe.settimeout(2.0)
            assert probe.connect_ex((outside, int(address.rpartition(":")[2]))) != 0


def test_no_cluster_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="workers = 2 is allowed only for a cluster"):
        RayEngine(address="auto", workers=2)


PLAN = """
drive:
  vehicle: kinematic_bicycle
  duration: 0.5
  dt: 0.01
  controls: {steer: 0.02}
  metrics: {end: {last: y}}
factors: {x0.v_x: [5.0, 10.0]}
design: grid
"""


def test_workers_import_modules_next_to_a_plan(tmp_path: Path) -> None:
    """From a folder that is neither the current one nor installed."""
    (tmp_path / "own_doubles.py").write_text("def double(a):\n    return {'b': 2.0 * a}\n")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "function: {call: 'own_doubles:double', gives: [b], vectorised: false}\n"
        "factors: {a: [1, 2]}\ndesign: grid\n"
    )
    study = campaign_of(plan).run(tmp_path / "runs", engine="ray", progress=False)
    assert study["b"].tolist() == [2.0, 4.0]


def test_the_command_line_starts_a_cluster(tmp_path: Path) -> None:
    """In a process of its own, in which nothing has imported Ray or set its variables."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    variables = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    command = [sys.executable, "-m", "skidpad", "campaign", "run", "plan.yaml", "--out", "runs"]
    done = subprocess.run(
        [*command, "--engine", "ray", "--workers", "1"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    local = subprocess.run(
        [*command[:-1], "local"], cwd=tmp_path, env=variables, check=False, timeout=300
    )
    assert local.returncode == 0
    study = Study.open(tmp_path / "runs")
    assert study.runs == 2
    assert study.digest() == Study.open(tmp_path / "local").digest()
