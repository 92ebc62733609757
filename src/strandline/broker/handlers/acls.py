"""DescribeAcls, CreateAcls and DeleteAcls, v1-v3: there is no authorizer, and each says so, as in Kafka."""

from __future__ import annotations

from strandline.broker.dispatch import Handler, Request
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from strandline.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from strandline.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from strandline.wire.versions import ApiKey

NO_AUTHORIZER = (ErrorCode.SECURITY_DISABLED, "This broker has no authorizer: everybody may do everything.")


def acl_handlers() -> dict[ApiKey, Handler]:
    return {
        ApiKey.DESCRIBE_ACLS: describe_acls,
        ApiKey.CREATE_ACLS: create_acls,
        ApiKey.DELETE_ACLS: delete_acls,
    }


def describe_acls(request: Request) -> bytes:
    decode(DescribeAclsRequest, request.api_version, request.body)
    return encode(DescribeAclsResponse(0, *NO_AUTHORIZER), request.api_version)


def create_acls(request: Request) -> bytes:
    asked = decode(CreateAclsRequest, request.api_version, request.body)
    results = [AclCreationResult(*NO_AUTHORIZER) for _ in asked.creations]
    return encode(CreateAclsResponse(results=results), request.api_version)


def delete_acls(request: Request) -> bytes:
    asked = decode(DeleteAclsRequest, request.api_version, request.body)
    results = [DeleteAclsFilterResult(*NO_AUTHORIZER) for _ in asked.filters]
    return encode(DeleteAclsResponse(filter_results=results), request.api_version)
