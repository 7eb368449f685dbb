from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.view.film import MAGIC, Film, ScanAt
from view.pages.films import times, two_cars


def test_thinning_keeps_the_ends_and_the_rate() -> None:
    film = two_cars()
    thin = film.thinned(5.0)
    assert thin.times[0] == film.times[0]
    assert thin.times[-1] == film.times[-1]
    assert np.diff(thin.times).min() > 1.0 / 5.0 - 1.0 / 20.0
    assert np.diff(thin.times).max() < 1.0 / 5.0 + 1.0 / 20.0
    rows = np.searchsorted(film.times, thin.times)
    assert np.array_equal(film.rows[rows], thin.rows)


def test_a_film_that_is_slow_enough_stays_as_it_is() -> None:
    film = two_cars()
    assert film.thinned(20.0) is film


def test_rows_must_fit_the_stage() -> None:
    film = two_cars()
    with pytest.raises(InvalidValue, match=r"needs rows of shape \(161, 30\)"):
        replace(film, rows=film.rows[:, :-1])


@pytest.mark.parametrize("spoilt", [np.nan, 0.0])
def test_times_must_increase(spoilt: float) -> None:
    film = two_cars()
    times = film.times.copy()
    times[5] = spoilt
    with pytest.raises(InvalidValue, match="must be finite and increase"):
        replace(film, times=times)


def test_scans_must_belong_to_a_lidar_and_fit_it() -> None:
    film = two_cars()
    with pytest.raises(InvalidValue, match="a scan of lidar 1; the stage has 1"):
        replace(film, scans=(ScanAt(1, 0.0, film.scans[0].ranges),))
    with pytest.raises(InvalidValue, match="'lidar' has 20 ranges; its lidar has 21 rays"):
        replace(film, scans=(ScanAt(0, 0.0, film.scans[0].ranges[1:]),))


def test_the_block_has_the_size_that_its_layout_says() -> None:
    film = two_cars()
    block = film.to_bytes()
    samples, channels = film.rows.shape
    head = int.from_bytes(block[12:16], "little")
    scans, rays = len(film.scans), film.stage.scans[0].count
    numbers = 8 * (samples + 2 * channels + scans)
    assert block.startswith(MAGIC)
    assert head % 8 == 0
    assert len(block) == 16 + head + numbers + 4 * samples * channels + 2 * scans * rays
    assert np.array_equal(np.frombuffer(block, "<f8", samples, 16 + head), film.times)


def _steps(film: Film) -> list[float]:
    """Of each channel in the block; 0 where it is kept as float32."""
    block = film.to_bytes()
    samples, channels = film.rows.shape
    begin = 16 + int.from_bytes(block[12:16], "little") + 8 * (samples + channels)
    return np.frombuffer(block, "<f8", channels, begin).tolist()


def test_only_channels_with_wild_values_leave_fixed_point() -> None:
    """Fixed point packs well: ordinary signals stay in it, a swerve amid tiny noise too."""
    film = two_cars()
    rows, t = film.rows.copy(), times()
    rows[:, 7] = 1e-12 * np.cos(40.0 * t) + np.where(abs(t - 4.0) < 0.6, np.sin(5.0 * t), 0.0)
    assert all(_steps(replace(film, rows=rows)))
    rows[3, [3, 13]] = 1e9, -np.inf
    assert [c for c, step in enumerate(_steps(replace(film, rows=rows))) if not step] == [3, 13]
