"""Reads requirements files as the pip of this interpreter does. In: a JSON list of contents. Out: its version, and for
each content its logical lines and, unless it is an error, its requirements."""

import json
import os
import sys
import tempfile

import pip
from pip._internal.network.session import PipSession
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import parse_requirements, preprocess

session = PipSession()


def requirements(path):
    found = []
    for parsed in parse_requirements(path, session):
        req = install_req_from_parsed_requirement(parsed)
        found.append({
            "name": req.name, "specifier": str(req.specifier), "link": bool(req.link or req.editable),
            "pinned": bool(req.is_pinned), "marker": str(req.markers) if req.markers else "",
            "hashes": sorted(f"{kind}:{value}" for kind, values in (req.hash_options or {}).items() for value in values),
        })
    return found


def read(content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "requirements.txt")
        with open(path, "wb") as file:
            file.write(content.encode())
        try:
            parsed = requirements(path)
        except Exception:  # pip refuses it; that is a result too
            parsed = None
    return {"content": content, "lines": [line for _, line in preprocess(content)], "requirements": parsed}


json.dump({"pip": pip.__version__, "files": [read(content) for content in json.load(sys.stdin)]}, sys.stdout, indent=1)
