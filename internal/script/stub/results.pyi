import os
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type, TypedDict, TypeVar, Union

StrPath = Union[str, "os.PathLike[str]"]
_T = TypeVar("_T")

class WebHit(TypedDict, total=False):
    title: str
    url: str
    description: str
    position: int

class WebHits(TypedDict, total=False):
    web: List[WebHit]

class WebSearchResult(TypedDict, total=False):
    data: WebHits
    error: str

class WebPage(TypedDict, total=False):
    url: str
    title: str
    content: str
    error: str

class WebExtractResult(TypedDict, total=False):
    results: List[WebPage]
    error: str

class ReadFileResult(TypedDict, total=False):
    content: str
    total_lines: int
    file_size: int
    truncated: bool
    encoding: str
    is_binary: bool
    is_image: bool
    mime_type: str
    similar_files: List[str]
    error: str

class WriteFileResult(TypedDict, total=False):
    bytes_written: int
    resolved_path: str
    files_modified: List[str]
    created: bool
    dirs_created: bool
    lint: Any
    error: str

class ContextLine(TypedDict):
    line: int
    content: str

class SearchMatch(TypedDict, total=False):
    path: str
    line: int
    column: int
    content: str
    context: List[ContextLine]

class SearchFilesResult(TypedDict, total=False):
    matches: List[SearchMatch]
    files: List[str]
    counts: Dict[str, int]
    total_count: int
    total_is_minimum: bool
    truncated: bool
    next_offset: int
    error: str

class PatchResult(TypedDict, total=False):
    success: bool
    diff: str
    files_modified: List[str]
    files_created: List[str]
    files_deleted: List[str]
    match_strategy: str
    matches: int
    lint: Any
    error: str

class TerminalResult(TypedDict, total=False):
    output: str
    exit_code: int
    exit_code_meaning: str
    cwd: str
    duration_seconds: float
    status: str
    denied: bool
    error: str

class HermesToolError(RuntimeError):
    tool: str
    result: Dict[str, Any]
    type: str
    def __init__(self, message: str = ..., tool: str = ..., result: Optional[Dict[str, Any]] = ..., type: str = ...) -> None: ...

class _RaiseErrors:
    def __enter__(self) -> "_RaiseErrors": ...
    def __exit__(self, t: Optional[Type[BaseException]], e: Optional[BaseException], tb: Optional[TracebackType]) -> None: ...

def raise_errors() -> _RaiseErrors: ...
def check(result: _T) -> _T: ...
def json_parse(text: Union[str, bytes, Dict[str, Any], List[Any]]) -> Any: ...
def shell_quote(s: StrPath) -> str: ...
def retry(fn: Callable[[], _T], max_attempts: int = ..., delay: float = ...) -> _T: ...
