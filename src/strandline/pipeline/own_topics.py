"""The topics of a pipeline, before Spark is started, which takes ten seconds.

Those that it reads have to be there. The one for its dead letters is its own: it is created. So is a topic that it
writes to, where the broker would create it for any producer.
"""

from __future__ import annotations

from dataclasses import replace

from strandline.client.cluster import Cluster
from strandline.client.failures import NoTopic
from strandline.client.topics import NewTopic, create_topics
from strandline.model.error_codes import ErrorCode
from strandline.pipeline.spec import Pipeline, TopicSink


async def make_sure_of_topics(cluster: Cluster, pipeline: Pipeline) -> None:
    await cluster.topics(sorted(pipeline.source.topics), fresh=True)
    if pipeline.dead_letter:
        await _make(cluster, pipeline.dead_letter)
    targets = sorted({sink.topic for sink in pipeline.sinks if isinstance(sink, TopicSink)})
    if targets:
        async with Cluster(replace(cluster.settings, allow_auto_create_topics=True)) as producer:
            await producer.topics(targets)


async def _make(cluster: Cluster, topic: str) -> None:
    """With as many partitions and replicas as the broker gives a topic by default."""
    try:
        await cluster.topics([topic], fresh=True)
    except NoTopic:
        [created] = await create_topics(cluster, [NewTopic(topic)])
        if created.refusal is not None and created.refusal.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise created.refusal from None
