"""Settings of topics and brokers change: in the store first, then in force.

A change is made to what the store has, on the condition that it still has that when the change is written: of two at a
time none is lost. With it goes a notice for other brokers, as in Kafka; notices are removed when every broker must
have seen them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from strandline.broker.configs.checks import check_broker, check_dynamic, check_topic
from strandline.broker.configs.definitions import BROKER_CONFIGS, TOPIC_CONFIGS
from strandline.broker.configs.operations import Change
from strandline.broker.configuration import merged
from strandline.broker.controlled_state import ControlledState
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config, encode_config, encode_config_change
from strandline.metadata.errors import BadVersion, MultiFailed, NodeExists, NoNode
from strandline.metadata.operations import Check, Create, Operation, SetData
from strandline.metadata.store import NodeData
from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import check_topic_name
from strandline.model.settings import MINUTE_MS

NOTICE_EXPIRATION_MS = 15 * MINUTE_MS  # Kafka's
ATTEMPTS_MAX = 10
Properties = dict[str, str]


@dataclass(frozen=True, slots=True)
class Entity:
    """Whose settings change: `path` below /config, what becomes of those stored, and how that comes into force."""

    path: str
    changed: Callable[[Properties], Properties]
    apply: Callable[[Properties], None]
    conditions: Sequence[Check] = ()


class ConfigChanges:
    def __init__(self, state: ControlledState) -> None:
        self._state = state

    async def change_topic(self, topic: str, change: Change, *, validate_only: bool) -> None:
        configuration = self._state.configuration
        self._check_exists(topic)

        def changed(stored: Properties) -> Properties:
            self._check_exists(topic)
            properties = change.applied_to(stored, TOPIC_CONFIGS)
            check_topic(properties, configuration.broker_properties(), changed=change.names)
            return properties

        def apply(properties: Properties) -> None:
            if topic in self._state.image.topics:
                configuration.set_topic(topic, properties)

        entity = Entity(paths.entity_path(paths.TOPIC_CONFIGS, topic), changed, apply, [Check(paths.topic_path(topic))])
        await self._change(entity, validate_only)

    def _check_exists(self, topic: str) -> None:
        check_topic_name(topic)
        if topic not in self._state.image.topics:
            raise self._state.image.no_topic(topic)

    async def change_broker(self, change: Change, *, of_all: bool, validate_only: bool) -> None:
        """Of this broker, or of all brokers that have none of their own."""
        configuration = self._state.configuration
        check_dynamic(change.names)

        def layers(properties: Properties) -> tuple[Properties, Properties]:
            if of_all:
                return properties, configuration.dynamic_broker
            return configuration.dynamic_default, properties

        def changed(stored: Properties) -> Properties:
            properties = change.applied_to(stored, BROKER_CONFIGS)
            check_broker(merged(configuration.static, *layers(properties)), configuration.topics)
            return properties

        def apply(properties: Properties) -> None:
            default, own = layers(properties)
            configuration.set_dynamic(default=default, broker=own)

        name = paths.DEFAULT_ENTITY if of_all else str(self._state.broker_id)
        await self._change(Entity(paths.entity_path(paths.BROKER_CONFIGS, name), changed, apply), validate_only)

    async def change_user(self, user: str, changed: Callable[[Properties], Properties]) -> None:
        """Of a user only credentials are kept, which nobody here uses yet."""
        entity = Entity(paths.entity_path(paths.USER_CONFIGS, user), changed, lambda _: None)
        await self._change(entity, validate_only=False)

    async def _change(self, entity: Entity, validate_only: bool) -> None:
        for _ in range(ATTEMPTS_MAX):
            try:
                node = await self._node(entity.path)
                properties = entity.changed({} if node is None else decode_config(entity.path, node.data))
                if validate_only:
                    return
                await self._write(entity, node, properties)
            except NoNode:
                continue
            except MultiFailed as failed:
                if not isinstance(failed.cause, BadVersion | NodeExists | NoNode):
                    raise
                continue  # somebody was quicker: look again
            entity.apply(properties)
            await self._remove_old_notices()
            return
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, "Others keep changing these settings: look, and try again.")

    async def _node(self, entity_path: str) -> NodeData | None:
        path = paths.config_path(entity_path)
        has_node = await self._state.session.exists(path) is not None
        return await self._state.session.get(path) if has_node else None

    async def _write(self, entity: Entity, node: NodeData | None, properties: Properties) -> None:
        path, data = paths.config_path(entity.path), encode_config(properties)
        write: Operation = Create(path, data) if node is None else SetData(path, data, node.stat.version)
        notice = Create(paths.CONFIG_CHANGE_PREFIX, encode_config_change(entity.path), sequential=True)
        await self._state.session.multi([*entity.conditions, write, notice])

    async def _remove_old_notices(self) -> None:
        """The oldest first, up to one that is too young."""
        session, expired_before_ms = self._state.session, self._state.host.now_ms() - NOTICE_EXPIRATION_MS
        for name in (await session.children(paths.CONFIG_CHANGES)).names:
            path = f"{paths.CONFIG_CHANGES}/{name}"
            stat = await session.exists(path)
            if stat is not None and stat.created_ms >= expired_before_ms:
                return
            with suppress(NoNode):
                await session.delete(path)
