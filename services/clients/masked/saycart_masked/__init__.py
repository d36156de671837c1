"""Decode any Pydantic model under an llguidance mask, on llama.cpp or vLLM."""

from .call import Answer as Answer
from .call import Completed as Completed
from .call import How as How
from .call import MaskedEngine as MaskedEngine
from .call import Message as Message
from .call import masked as masked
from .engine import Engine as Engine
from .errors import AnswerRejected as AnswerRejected
from .errors import AnswerTruncated as AnswerTruncated
from .errors import CallCancelled as CallCancelled
from .errors import MaskedCallError as MaskedCallError
from .errors import OutsideMask as OutsideMask
from .errors import RequestRefused as RequestRefused
from .errors import ServerUnavailable as ServerUnavailable
from .errors import UnmaskableModel as UnmaskableModel
from .output import BYTES as BYTES
from .output import Mask as Mask
from .output import OutputType as OutputType
from .scores import Token as Token
from .scores import probabilities as probabilities
from .scores import values as values
