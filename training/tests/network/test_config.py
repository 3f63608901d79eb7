"""NetworkConfig: a record that exists is valid, and a network can be built from it again."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from training import Network
from training.network.config import NetworkConfig


def test_config_expands_and_unpacks():
    config = NetworkConfig(2, [7, 12], 3, 4, recurrent=True, permutation=[3, 1, 0, 2])
    assert config.hidden == (7, 12)
    assert config.recurrent == (True, False)
    assert config.permutation == (3, 1, 0, 2)
    assert Network(**config).config == config
    assert NetworkConfig(**json.loads(json.dumps(config.plain()))) == config


def test_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        NetworkConfig(2, (7,), 3, 4).steps = 5


@pytest.mark.parametrize("name", ["in_features", "classes", "steps"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_config_refuses_sizes_that_are_none(name, value):
    sizes = {"in_features": 2, "hidden": (7,), "classes": 3, "steps": 4, name: value}
    with pytest.raises(ValueError, match=f"{name}: expected a whole number from 1 up"):
        NetworkConfig(**sizes)
