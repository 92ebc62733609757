"""Settings of the controller: Kafka's names, defaults and bounds."""

from __future__ import annotations

import pytest

from strandline.controller.settings import ControllerSettings
from strandline.model.settings import BadSetting


def test_defaults_are_kafkas() -> None:
    settings = ControllerSettings()
    assert settings.auto_leader_rebalance_enable
    assert settings.leader_imbalance_per_broker_percentage == 10
    assert settings.leader_imbalance_check_interval_ms == 300_000
    assert settings.delete_topic_enable
    assert not settings.unclean_leader_election_enable


def test_properties_by_kafkas_names() -> None:
    broker = {
        "leader.imbalance.check.interval.seconds": "7",
        "auto.leader.rebalance.enable": "false",
        "unclean.leader.election.enable": "true",
    }
    settings = ControllerSettings.from_properties({}, broker)
    assert settings.leader_imbalance_check_interval_ms == 7_000
    assert not settings.auto_leader_rebalance_enable
    assert settings.unclean_leader_election_enable


def test_bad_values_name_the_property() -> None:
    with pytest.raises(BadSetting, match=r"leader\.imbalance\.per\.broker\.percentage"):
        ControllerSettings.from_properties({}, {"leader.imbalance.per.broker.percentage": "-1"})
