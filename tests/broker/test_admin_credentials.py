"""SCRAM credentials: kept as Kafka keeps them, all changes of a user or none (KIP-554)."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer
from tests.broker.running_broker import RunningBroker

from strandline.broker.scram_credentials import Mechanism, encode_credential, iterations_of
from strandline.metadata.config_values import decode_config
from strandline.model.failures import CorruptData, ErrorCode
from strandline.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from strandline.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

SHA_256, SHA_512 = Mechanism


def credential(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    salted = hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 10)
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", salted)


class CredentialPeer(AdminPeer):
    def alter(  # type: ignore[override]
        self, *upsertions: ScramCredentialUpsertion, deletions: list[ScramCredentialDeletion] | None = None
    ) -> list[tuple[str, int]]:
        request = AlterUserScramCredentialsRequest(deletions or [], list(upsertions))
        answer = self.ask(request, 0, AlterUserScramCredentialsResponse)
        return [(result.user, result.error_code) for result in answer.results]

    def credentials(self, *users: str) -> dict[str, int | list[tuple[int, int]]]:
        """By user, the error code or what there is."""
        request = DescribeUserScramCredentialsRequest([UserName(user) for user in users] or None)
        answer = self.ask(request, 0, DescribeUserScramCredentialsResponse)
        assert answer.error_code == 0
        return {
            result.user: result.error_code or [(each.mechanism, each.iterations) for each in result.credential_infos]
            for result in answer.results
        }


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[CredentialPeer]:
    with CredentialPeer(broker.address) as peer:
        yield peer


def test_credentials_come_change_and_go(peer: CredentialPeer) -> None:
    assert peer.credentials() == {}
    assert peer.alter(credential("alice"), credential("bob", SHA_512, 5000)) == [("alice", 0), ("bob", 0)]
    assert peer.credentials() == {"alice": [(1, 4096)], "bob": [(2, 5000)]}
    assert peer.alter(credential("alice", iterations=9000), credential("alice", SHA_512)) == [("alice", 0)]
    assert peer.credentials("alice") == {"alice": [(1, 9000), (2, 4096)]}
    assert peer.alter(deletions=[ScramCredentialDeletion("alice", SHA_256)]) == [("alice", 0)]
    assert peer.credentials("alice", "bob") == {"alice": [(2, 4096)], "bob": [(2, 5000)]}
    assert peer.alter(deletions=[ScramCredentialDeletion("alice", SHA_512)]) == [("alice", 0)]
    assert peer.credentials() == {"bob": [(2, 5000)]}


def test_they_lie_where_kafka_keeps_them_and_survive(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path)) as broker, CredentialPeer(broker.address) as peer:
        peer.alter(credential("a user/with §"))
        node = broker.call(lambda: broker.store.tree.find("/config/users/a%20user%2Fwith%20%C2%A7"))
        stored = decode_config("users/x", node.data)
    assert stored.keys() == {"SCRAM-SHA-256"}
    assert re.fullmatch(r"salt=c2FsdA==,stored_key=[^,]+,server_key=[^,]+,iterations=4096", stored["SCRAM-SHA-256"])
    with RunningBroker(str(tmp_path)) as broker, CredentialPeer(broker.address) as peer:
        assert peer.credentials() == {"a user/with §": [(1, 4096)]}


def test_what_cannot_be_changed(peer: CredentialPeer) -> None:
    """One bad change of a user, and none of that user's is made."""
    assert peer.alter(credential("")) == [("", ErrorCode.UNACCEPTABLE_CREDENTIAL)]
    assert peer.alter(credential("alice", iterations=4095)) == [("alice", ErrorCode.UNACCEPTABLE_CREDENTIAL)]
    assert peer.alter(credential("alice", iterations=16385)) == [("alice", ErrorCode.UNACCEPTABLE_CREDENTIAL)]
    assert peer.alter(credential("alice", 3)) == [("alice", ErrorCode.UNSUPPORTED_SASL_MECHANISM)]
    assert peer.alter(credential("alice"), credential("alice")) == [("alice", ErrorCode.DUPLICATE_RESOURCE)]
    both = peer.alter(credential("alice"), deletions=[ScramCredentialDeletion("alice", SHA_256)])
    assert both == [("alice", ErrorCode.DUPLICATE_RESOURCE)]
    missing = peer.alter(credential("alice"), deletions=[ScramCredentialDeletion("alice", SHA_512)])
    assert missing == [("alice", ErrorCode.RESOURCE_NOT_FOUND)]
    assert peer.alter(credential("alice", 3), credential("bob"))[1] == ("bob", 0)
    assert peer.credentials() == {"bob": [(1, 4096)]}


def test_what_cannot_be_described(peer: CredentialPeer) -> None:
    not_found = ErrorCode.RESOURCE_NOT_FOUND
    assert peer.credentials("nobody", "", "x", "x") == {
        "nobody": not_found,
        "": not_found,
        "x": ErrorCode.DUPLICATE_RESOURCE,
    }


def test_the_keys_are_those_of_rfc_7677() -> None:
    """The example there: user, pencil, 4096 rounds. Who knows the password can show it, who knows the keys cannot."""
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    assert encode_credential(SHA_256, salt, salted, 4096) == (
        "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
        "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
    )


def test_a_damaged_credential_is_told(broker: RunningBroker, peer: CredentialPeer) -> None:
    with pytest.raises(CorruptData):
        iterations_of("alice", "salt=…")
    peer.alter(credential("alice"))
    data = b'{"version":1,"config":{"SCRAM-SHA-256":"salt=x"}}'
    broker.call(lambda: broker.broker.session.set("/config/users/alice", data))
    assert peer.credentials("alice") == {"alice": ErrorCode.UNKNOWN_SERVER_ERROR}
