"""Decode any Pydantic model under an llguidance mask, on llama.cpp or vLLM."""

from .call import Answer, MaskedEngine, masked
from .engine import Engine
from .errors import (
    AnswerRejected,
    AnswerTruncated,
    CallCancelled,
    MaskedCallError,
    OutsideMask,
    RequestRefused,
    ServerUnavailable,
    UnmaskableModel,
)
from .mask import BYTES, Mask
from .output import OutputType
from .scores import probabilities, values
from .types import Completed, How, Message, Token

__all__ = [
    "BYTES",
    "Answer",
    "AnswerRejected",
    "AnswerTruncated",
    "CallCancelled",
    "Completed",
    "Engine",
    "How",
    "Mask",
    "MaskedCallError",
    "MaskedEngine",
    "Message",
    "OutputType",
    "OutsideMask",
    "RequestRefused",
    "ServerUnavailable",
    "Token",
    "UnmaskableModel",
    "masked",
    "probabilities",
    "values",
]
