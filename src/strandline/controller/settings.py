"""Settings of the controller, by Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, PropertySettings, setting

# A controller that has just come waits this long before it first looks at the balance of leaders.
FIRST_REBALANCE_DELAY_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings(PropertySettings):
    auto_leader_rebalance_enable: bool = setting(True, "auto.leader.rebalance.enable")
    leader_imbalance_per_broker_percentage: int = setting(
        10, "leader.imbalance.per.broker.percentage", at_least=0, at_most=INT_MAX
    )
    leader_imbalance_check_interval_ms: int = setting(
        300_000, ("leader.imbalance.check.interval.seconds", 1_000), at_least=1, at_most=INT_MAX
    )
    delete_topic_enable: bool = setting(True, "delete.topic.enable")
    unclean_leader_election_enable: bool = setting(False, "unclean.leader.election.enable")
