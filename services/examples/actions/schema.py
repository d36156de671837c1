"""An agent's next action: one of four, told apart by `kind`; and the same with one thing changed each.

`text` stands for three things, by the branch: a file's content, words to look for, an answer. With `kind`
first the branch is chosen before its fields are written. With `kind` last a shared name is written, and
filled, before the branch is; the mask then leaves only the branches that what stands there fits.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel

FilePath = Annotated[str, Field(max_length=80, description="path of a file, from the folder")]
Content = Annotated[str, Field(max_length=400, description="the whole new content of the file")]
Words = Annotated[str, Field(max_length=80, description="the word to look for in all files")]
Reply = Annotated[str, Field(max_length=80, description="the answer, in a few words")]
Thought = Annotated[str, Field(max_length=160, description="one sentence: what is known, what is missing")]


class ReadFile(BaseModel):
    kind: Literal["read_file"]
    path: FilePath


class WriteFile(BaseModel):
    kind: Literal["write_file"]
    path: FilePath
    text: Content


class Search(BaseModel):
    kind: Literal["search"]
    text: Words


class Finish(BaseModel):
    kind: Literal["finish"]
    text: Reply


Action = ReadFile | WriteFile | Search | Finish


class NextAction(RootModel[Annotated[Action, Field(discriminator="kind")]]):
    """The example: the branch first."""


class ReadFileLast(BaseModel):
    path: FilePath
    kind: Literal["read_file"]


class WriteFileLast(BaseModel):
    path: FilePath
    text: Content
    kind: Literal["write_file"]


class SearchLast(BaseModel):
    text: Words
    kind: Literal["search"]


class FinishLast(BaseModel):
    text: Reply
    kind: Literal["finish"]


class KindLast(
    RootModel[Annotated[ReadFileLast | WriteFileLast | SearchLast | FinishLast, Field(discriminator="kind")]]
):
    """The branch after its fields."""


class Thinking(BaseModel):
    """Named last among the bases, so that its field stands before theirs."""

    thinking: Thought


class ReadFileThought(ReadFile, Thinking):
    pass


class WriteFileThought(WriteFile, Thinking):
    pass


class SearchThought(Search, Thinking):
    pass


class FinishThought(Finish, Thinking):
    pass


class Thoughtful(
    RootModel[
        Annotated[
            ReadFileThought | WriteFileThought | SearchThought | FinishThought, Field(discriminator="kind")
        ]
    ]
):
    """A sentence before the branch."""


AnyAction = NextAction | KindLast | Thoughtful
