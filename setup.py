"""The one thing pyproject.toml cannot say: a compiled module that may be absent.

`optional=True` lets an install without a C compiler succeed; `strandline.records.walk` then uses its pure twin.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "strandline.records._walk",
            ["src/strandline/records/_walk.c"],
            extra_compile_args=["-O3"],
            optional=True,
        )
    ]
)
