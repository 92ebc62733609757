"""The one thing pyproject.toml cannot say: a compiled module that may be absent.

`optional=True` lets an install without a C compiler succeed; `walk`, `columns`, `crc`, `placing`, `taking`
and `alike` in `strandline.records` then use their twins.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "strandline.records._native",
            [
                f"src/strandline/records/_native{name}.c"
                for name in ("", "_walk", "_columns", "_crc", "_place", "_take", "_alike")
            ],
            depends=[f"src/strandline/records/_native{name}.h" for name in ("", "_batch", "_reader")],
            extra_compile_args=["-O3"],
            optional=True,
        )
    ]
)
