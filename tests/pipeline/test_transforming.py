"""A function of a user's as a step: what goes wrong in it is told with its name, and in one sentence."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.spec import PythonFunction
from strandline.pipeline.transforming import transform


@pytest.mark.parametrize(
    ("module", "text", "sentence"),
    [
        ("raising", "def f(frame):\n    raise ValueError('boom\\nand more')", "raising:f failed: ValueError: boom and"),
        ("leaving", "def f(frame):\n    raise SystemExit(3)", "leaving:f failed: SystemExit: 3"),
        ("silent", "def f(frame):\n    raise KeyError", "silent:f failed: KeyError"),
        ("dividing", "1 / 0\ndef f(frame): ...", "dividing:f cannot be used: ZeroDivisionError: division by zero"),
        ("importing", "import not_there\ndef f(frame): ...", "importing:f cannot be used: No module named 'not_there'"),
        ("without", "def g(frame): ...", "without:f cannot be used: module 'without' has no attribute 'f'"),
        ("giving", "def f(frame): ...", "giving:f gives NoneType, and not a DataFrame: let it return one"),
    ],
)
def test_a_function_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, text: str, sentence: str
) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    session = SimpleNamespace(sparkContext=SimpleNamespace(addPyFile=lambda _: None))
    frame: Any = SimpleNamespace(sparkSession=session)
    with pytest.raises(BadPipeline) as raised:
        transform(frame, [PythonFunction(module, "f")], str(tmp_path))
    assert str(raised.value).startswith(sentence)
