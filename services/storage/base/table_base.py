"""The base class of all tables and their column types."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError
from sqlalchemy import JSON, Dialect, ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine

from infra.sql.database import UtcDateTime
from schemas.cart import CartDraft
from schemas.decision import Decision, ModelAnswer
from schemas.order import DecodedBy, OrderError
from schemas.priced_cart import Cart, Finding
from schemas.records.orders import StoredUtterance
from schemas.review import ReviewReason
from schemas.transcript import Transcript

log = structlog.get_logger()

# JSON rather than JSONB, which doesn't keep the order of keys: a menu's prices are in the order of its sizes.
# None is stored as NULL, so that queries have only one case of "no cart".
_JSON = JSON(none_as_null=True)
Document = dict[str, Any]


class Stored(TypeDecorator[Any]):
    """A JSON column with one value of a type, or a tuple of `many`.

    A value that a later release wrote and this one can't read is left out, and logged, so that it doesn't
    make the whole order unreadable during an upgrade.
    """

    impl = JSON
    cache_ok = True

    def __init__(self, kind: type[Any], *, many: bool = False) -> None:
        super().__init__(none_as_null=True)
        self.kind, self.many = kind, many
        self._adapter = TypeAdapter(kind)

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        if self.many and value is not None:
            return [_document(one) for one in value]
        return _document(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        if self.many:
            return tuple(one for document in value or () if (one := self._read(document)) is not None)
        return self._read(value)

    def coerce_compared_value(self, op: Any, value: Any) -> TypeEngine[Any]:
        return _JSON.coerce_compared_value(op, value)

    def _read(self, document: Any) -> Any:
        try:
            return None if document is None else self._adapter.validate_python(document)
        except ValidationError as error:
            log.warning("row.left_out", what=self.kind.__name__, problems=error.error_count())
            return None


def _document(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


_VALUES: dict[Any, Any] = {
    kind: Stored(kind) for kind in (CartDraft, Cart, DecodedBy, Decision, ModelAnswer, OrderError, Transcript)
}


class Base(DeclarativeBase):
    type_annotation_map = {  # noqa: RUF012 (read once by SQLAlchemy)
        datetime: UtcDateTime,
        Document: _JSON,
        list[Any]: _JSON,
        tuple[Finding, ...]: Stored(Finding, many=True),
        tuple[ReviewReason, ...]: Stored(ReviewReason, many=True),
        tuple[StoredUtterance, ...]: Stored(StoredUtterance, many=True),
        **_VALUES,
    }


def shop(**more: Any) -> Mapped[str]:
    return mapped_column(ForeignKey("shops.id"), **more)
