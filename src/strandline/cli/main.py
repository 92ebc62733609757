"""`strandline`: the groups of commands, each command imported only when it runs.

Kafka's own tools take seconds to start. This one must not: the help texts of the groups come from the tables below, so
that neither `--help` nor a command imports what it does not use.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NamedTuple

import click

from strandline import __version__
from strandline.interrupts import end_at_once_when_interrupted, raise_when_interrupted


class LazyCommand(NamedTuple):
    module: str
    attribute: str
    summary: str  # equals the command's own short help; a test compares them


class LazyGroup(click.Group):
    def __init__(self, name: str, lazy: dict[str, LazyCommand], help: str) -> None:  # noqa: A002 (click's name)
        super().__init__(name, help=help, no_args_is_help=True)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.lazy)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in self.lazy:
            return None
        command = getattr(import_module(self.lazy[name].module), self.lazy[name].attribute)
        assert isinstance(command, click.Command)
        if not isinstance(command, LazyGroup):
            raise_when_interrupted()
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Commands that end well with Ctrl-C, or have more to say of it, leave nothing of it to be heard here."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            from strandline.cli.output import Interrupted

            raise Interrupted from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.lazy and not args[0].startswith("-"):
            from difflib import get_close_matches  # only for those who mistype

            close = get_close_matches(args[0], self.lazy, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(self.lazy)}"
            ctx.fail(f"there is no command {args[0]!r}: {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self.lazy.items()])


def lazy_commands(prefix: str, *entries: tuple[str, str] | tuple[str, str, str]) -> dict[str, LazyCommand]:
    """Name, summary and, where a command's function has another name than the command, that."""
    commands = {}
    for name, summary, *rest in entries:
        word = name.replace("-", "_")
        commands[name] = LazyCommand(f"strandline.cli.{prefix}_{word}", rest[0] if rest else word, summary)
    return commands


LOG_COMMANDS = lazy_commands(
    "log",
    ("dump", "Print what is in log files, line by line as Kafka's own tool does."),
    ("segments", "List the segments of a partition: offsets, times, sizes, indexes."),
    ("check", "Verify every byte that can be verified; exit 1 if there is a fault."),
    ("epochs", "Compare the leader epochs of the checkpoint with those of the batches."),
    ("find", "Look up an offset or a time, and show the path taken."),
    ("clean", "Show what retention and compaction would do; do it with --execute."),
)
TOPIC_COMMANDS = lazy_commands(
    "topic",
    ("create", "Create topics."),
    ("list", "List topics.", "list_topics"),
    ("describe", "Show summary, partitions and settings of topics."),
    ("alter", "Change settings of topics."),
    ("add-partitions", "Give topics more partitions."),
    ("trim", "Delete the oldest records; shows which unless told to --execute."),
    ("delete", "Delete topics; shows what would go unless told to --execute."),
)
GROUP_COMMANDS = lazy_commands(
    "group",
    ("list", "List groups.", "list_all"),
    ("describe", "Show members of groups, and how far they are."),
    ("lag", "Show how far behind groups are."),
    ("seek", "Move a group to other offsets; shows which unless told to --execute."),
    ("offset-delete", "Forget committed offsets; shows which unless told to --execute."),
    ("delete", "Delete groups; shows what would go unless told to --execute."),
)
TRANSACTION_COMMANDS = lazy_commands(
    "transaction",
    ("list", "List transactional ids, and in which state each is.", "list_all"),
    ("describe", "Show what is known of transactional ids, and where they write."),
    ("producers", "Show the producers that partitions remember, and what they have open."),
    ("find-hanging", "Find transactions that nobody will end."),
    ("abort", "Abort a transaction that hangs; shows which unless told to --execute."),
    ("force-terminate", "Fence producers and abort what they have open; --execute does it."),
)
CONFIG_COMMANDS = lazy_commands(
    "config",
    ("get", "Show settings, and where each comes from."),
    ("set", "Change settings.", "set_configs"),
    ("unset", "Give settings their defaults again."),
    ("diff", "Show in which settings two topics or brokers differ."),
)
BENCH_COMMANDS = lazy_commands(
    "bench",
    ("produce", "Write records, and say how fast and how late."),
    ("consume", "Read records, and say how fast."),
    ("e2e", "Write and read one record after another, and say how long each takes."),
)
PIPELINE_COMMANDS = lazy_commands(
    "pipeline",
    ("init", "Write an example of a pipeline, with all there is in comments."),
    ("validate", "Find every mistake in a pipeline's file, without starting Spark."),
    ("run", "Run a pipeline on Spark, and show its progress.", "run_pipeline"),
    ("status", "Show how far a pipeline is, and how far behind."),
    ("replay", "Run a pipeline once more over a range, into another place.", "replay_range"),
)
DLQ_COMMANDS = lazy_commands(
    "dlq",
    ("list", "Count the dead letters of a topic by their reasons.", "list_reasons"),
    ("show", "Show dead letters: where they came from, and why they are here."),
    ("redrive", "Send dead letters back; shows which unless told to --execute.", "redrive_letters"),
    ("purge", "Delete dead letters; shows which unless told to --execute."),
)
CLUSTER_COMMANDS = lazy_commands(
    "cluster",
    ("info", "Show the brokers, and what each leads and holds."),
    ("health", "Say what is wrong with the cluster; exit 1 if anything is."),
    ("partitions", "List all partitions, who leads and who holds them."),
    ("events", "Tell what has happened in the cluster, and why."),
    ("up", "Start ZooKeeper and brokers on this machine."),
    ("status", "Show the processes of a cluster on this machine."),
    ("down", "Stop all of a cluster on this machine; its data stays."),
    ("start", "Start broker N again, with its data."),
    ("stop", "Stop broker N in order: a controlled shutdown."),
    ("kill", "Kill broker N with SIGKILL, as a crash would."),
)
LEADER_COMMANDS = lazy_commands(
    "leader",
    ("elect", "Have preferred leaders elected; shows which unless told to --execute."),
)
REASSIGN_COMMANDS = lazy_commands(
    "reassign",
    ("plan", "Show how replicas would be spread evenly; nothing moves."),
    ("execute", "Move replicas, and show how far they are."),
    ("status", "List the replicas that are on the move."),
    ("cancel", "Take moves back; shows which unless told to --execute."),
)

log = LazyGroup(
    "log",
    LOG_COMMANDS,
    help="""Look at logs: Strandline's or Apache Kafka's.

    PATH is a file, a partition's folder or a whole data directory, broker up or down. Nothing is ever changed, except
    by `clean --execute`.
    """,
)

topic = LazyGroup("topic", TOPIC_COMMANDS, help="Topics: to create, look at, change and delete.")
group = LazyGroup("group", GROUP_COMMANDS, help="Consumer groups: who reads, how far, and from where on.")
transaction = LazyGroup(
    "transaction", TRANSACTION_COMMANDS, help="Transactions: who has them open, and how to end one."
)
config = LazyGroup("config", CONFIG_COMMANDS, help="Settings of topics and brokers.")
cluster = LazyGroup("cluster", CLUSTER_COMMANDS, help="The brokers, and how they are.")
leader = LazyGroup("leader", LEADER_COMMANDS, help="Who leads partitions.")
reassign = LazyGroup("reassign", REASSIGN_COMMANDS, help="Replicas that move to other brokers.")
pipeline = LazyGroup("pipeline", PIPELINE_COMMANDS, help="From topics through Spark to topics and tables.")
dlq = LazyGroup("dlq", DLQ_COMMANDS, help="Dead letters: records that a pipeline could not use.")
bench = LazyGroup("bench", BENCH_COMMANDS, help="How fast it is, told as Kafka's own tools do.")

THIS = "strandline.cli.main"
cli = LazyGroup(
    "strandline",
    {
        "serve": LazyCommand("strandline.cli.serve", "serve", "Start a broker and serve until it is stopped."),
        "produce": LazyCommand("strandline.cli.produce", "produce", "Write records from standard input to a topic."),
        "consume": LazyCommand("strandline.cli.consume", "consume", "Print the records of topics."),
        "topic": LazyCommand(THIS, "topic", "Topics: to create, look at, change and delete."),
        "offsets": LazyCommand("strandline.cli.offsets", "offsets", "Show what the partitions of topics hold."),
        "group": LazyCommand(THIS, "group", "Consumer groups: who reads, how far, and from where on."),
        "transaction": LazyCommand(THIS, "transaction", "Transactions: who has them open, and how to end one."),
        "config": LazyCommand(THIS, "config", "Settings of topics and brokers."),
        "cluster": LazyCommand(THIS, "cluster", "The brokers, and how they are."),
        "leader": LazyCommand(THIS, "leader", "Who leads partitions."),
        "reassign": LazyCommand(THIS, "reassign", "Replicas that move to other brokers."),
        "explain": LazyCommand("strandline.cli.explain", "explain", "Say where a record is, and who may see it."),
        "log-dirs": LazyCommand(
            "strandline.cli.log_dirs", "log_dirs", "Show where replicas lie, and how large they are."
        ),
        "pipeline": LazyCommand(THIS, "pipeline", "From topics through Spark to topics and tables."),
        "dlq": LazyCommand(THIS, "dlq", "Dead letters: records that a pipeline could not use."),
        "bench": LazyCommand(THIS, "bench", "How fast it is, told as Kafka's own tools do."),
        "simulate": LazyCommand(
            "strandline.cli.simulate",
            "simulate",
            "Run a whole cluster in one thread, with faults; check every step.",
        ),
        "log": LazyCommand(THIS, "log", "Look at logs: Strandline's or Apache Kafka's."),
        "check-history": LazyCommand(
            "strandline.cli.check_history",
            "check_history",
            "Look for anomalies in what clients saw; exit 1 if one is bad.",
        ),
    },
    help="Strandline: Apache Kafka's replicated log in Python.",
)
cli = click.version_option(__version__, prog_name="strandline", message="%(prog)s %(version)s")(cli)


def _make_sure_of_streams() -> None:
    """Python has None for what whoever started us has closed. Exit code 1 would be a fault that was found."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as the process is there)
    if sys.stdout is None:
        from strandline.cli.output import CannotWrite

        failure = CannotWrite("the output cannot be written: standard output is closed; /dev/null takes anything")
        failure.show()
        sys.exit(failure.exit_code)


def main() -> None:
    end_at_once_when_interrupted()
    _make_sure_of_streams()
    try:
        cli(prog_name="strandline")
    except OSError as error:  # of a help text, say, which click prints: commands tell of theirs themselves
        if error.filename is not None:
            raise
        from strandline.cli.output import cannot_print

        cannot_print(error)
