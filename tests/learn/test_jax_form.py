"""Environments as pure functions of JAX: the bits of `Environments`, in jit and scan."""

from __future__ import annotations

import numpy as np
import pytest

from learn.small_tasks import small_task
from skidpad.errors import InvalidValue, TraceError
from skidpad.learn import Environments, functional

jax = pytest.importorskip("jax")
COUNT, STEPS = 6, 30


@pytest.fixture(scope="module")
def task():
    return small_task()


@pytest.fixture(scope="module")
def env(task):
    return functional(task, COUNT)


@pytest.fixture(scope="module")
def actions():
    return np.random.default_rng(3).uniform(-1, 1, (STEPS, COUNT, 2)).astype(np.float32)


def driven(task, actions, seed):
    environments = Environments(task, COUNT, on_diverge="end")
    first = environments.reset(seed=seed).copy()
    parts = [[np.array(p) for p in environments.step(a)[:4]] for a in actions]
    return first, [np.stack(part) for part in zip(*parts, strict=True)]


def test_a_scan_in_jit_has_the_bits_of_environments(task, env, actions):
    first, wanted = driven(task, actions, 5)

    @jax.jit
    def rollout(actions):
        state, seen = env.reset(5)

        def one(state, action):
            state, *stepped = env.step(state, action)
            return state, stepped

        return seen, jax.lax.scan(one, state, actions)[1]

    seen, found = rollout(actions)
    assert np.asarray(seen).tobytes() == first.tobytes()
    for name, here, there in zip(("seen", "reward", "end", "cut"), wanted, found, strict=True):
        assert here.tobytes() == np.asarray(there).tobytes(), name
    assert wanted[2].any()
    assert wanted[3].any()


def test_a_step_is_pure(env, actions):
    state, _ = env.reset(1)
    before = jax.tree.map(np.array, state)
    once = env.step(state, actions[0])
    env.step(once[0], actions[1])
    env.reset(2)
    again = env.step(state, actions[0])
    for here, there in zip(jax.tree.leaves(once), jax.tree.leaves(again), strict=True):
        assert np.asarray(here).tobytes() == np.asarray(there).tobytes()
    for name, array in before.items():
        assert array.tobytes() == np.asarray(state[name]).tobytes()


def test_keys_and_numbers_are_seeds(env):
    _, number = env.reset((7 << 32) + 9)
    _, raw = env.reset(np.array([7, 9], np.uint32))
    _, traced = jax.jit(env.reset)(np.array([7, 9], np.uint32))
    assert np.asarray(number).tobytes() == np.asarray(raw).tobytes()
    assert np.asarray(number).tobytes() == np.asarray(traced).tobytes()
    one, other = (jax.random.key(k) for k in (0, 1))
    data = jax.random.key_data(one)
    assert np.asarray(env.reset(one)[1]).tobytes() == np.asarray(env.reset(data)[1]).tobytes()
    assert np.asarray(env.reset(one)[1]).tobytes() != np.asarray(env.reset(other)[1]).tobytes()
    with pytest.raises(InvalidValue, match=r"key = 0\.5"):
        env.reset(0.5)


def test_a_batch_of_keys_is_a_batch_of_worlds(env):
    keys = jax.random.split(jax.random.key(3), 2)
    _, both = jax.vmap(env.reset)(keys)
    for k in range(2):
        _, alone = env.reset(keys[k])
        assert np.asarray(both[k]).tobytes() == np.asarray(alone).tobytes()


def test_float64_needs_that_of_jax(task):
    if jax.config.jax_enable_x64:
        pytest.skip("JAX computes in float64 here")
    with pytest.raises(InvalidValue, match="jax_enable_x64"):
        functional(task, 1, precision="float64")


def test_gradients_are_refused_in_words(env, actions):
    """In `grad`, `jacfwd`, and in a `scan` inside `jit`."""
    state, _ = env.reset(1)

    def cost(action):
        return env.step(state, action)[2].sum()

    @jax.jit
    def scanned(actions):
        return jax.lax.scan(lambda s, a: env.step(s, a)[:2], state, actions)[1].sum()

    calls = [(jax.grad(cost), actions[0]), (jax.jacfwd(cost), actions[0])]
    calls += [(jax.vmap(jax.grad(cost)), actions[:2]), (jax.grad(scanned), actions[:2])]
    for call, given in calls:
        with pytest.raises(TraceError, match="gradients do not flow through environments") as told:
            call(given)
        for name in ("step()", "functional", "stop_gradient", "Fleet.gradient", "vehicle.jax()"):
            assert name in str(told.value)
        assert isinstance(told.value, TypeError)


def test_a_policy_gradient_goes_round_the_environments(env, actions):
    """Rewards only weigh what is differentiated: d/dk of k times the sum of rewards is the sum."""
    state, _ = env.reset(1)

    @jax.jit
    @jax.grad
    def slope(k):
        action = jax.lax.stop_gradient(k * actions[0])
        return k * env.step(state, action)[2].sum()

    wanted = np.asarray(env.step(state, actions[0])[2]).sum()
    assert float(slope(1.0)) == pytest.approx(wanted, rel=1e-6)


def test_steps_are_batched_by_vmap(env, actions):
    """Two worlds in one call are those of two calls."""
    state, _ = env.reset(1)
    both = jax.jit(jax.vmap(env.step, in_axes=(None, 0)))(state, actions[:2])
    for k in range(2):
        alone = env.step(state, actions[k])
        for here, there in zip(jax.tree.leaves(both), jax.tree.leaves(alone), strict=True):
            assert np.asarray(here[k]).tobytes() == np.asarray(there).tobytes()
