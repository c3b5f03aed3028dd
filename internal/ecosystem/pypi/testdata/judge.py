"""Answers as the packaging library in this interpreter's pip does. In: {"markers": […], "environments": […],
"versions": […], "tags": […], "specifiers": […], "releases": […]}."""

import json
import sys

from pip._vendor.packaging import markers, specifiers, tags, version


def marker(text, environment):
    try:
        return bool(markers.Marker(text).evaluate(environment))
    except Exception:
        return None


def canonical(text):
    try:
        found = version.Version(text)
    except version.InvalidVersion:
        return None
    release = list(found.release)
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    parts = [f"{found.epoch}!" if found.epoch else "", ".".join(map(str, release))]
    parts.append("".join(map(str, found.pre)) if found.pre else "")
    parts.append(f".post{found.post}" if found.post is not None else "")
    parts.append(f".dev{found.dev}" if found.dev is not None else "")
    parts.append(f"+{found.local}" if found.local else "")
    return "".join(parts)


def supported(environment):
    major, minor = (int(part) for part in environment["python_version"].split("."))
    glibc = 41 if minor >= 13 else 36
    platforms = [f"manylinux_2_{n}_x86_64" for n in range(glibc, 4, -1)]
    platforms += ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "linux_x86_64"]
    found = set(tags.cpython_tags((major, minor), [f"cp{major}{minor}"], platforms))
    found |= set(tags.compatible_tags((major, minor), f"cp{major}{minor}", platforms))
    return found


def admits(specifier, release):
    try:
        return specifiers.SpecifierSet(specifier).contains(release)
    except specifiers.InvalidSpecifier:
        return None


asked = json.load(sys.stdin)
installable = [supported(environment) for environment in asked["environments"]]
json.dump({
    "markers": [[marker(text, e) for e in asked["environments"]] for text in asked["markers"]],
    "versions": [canonical(text) for text in asked["versions"]],
    "tags": [[bool(tags.parse_tag(text) & found) for found in installable] for text in asked["tags"]],
    "specifiers": [[admits(text, release) for release in asked["releases"]] for text in asked["specifiers"]],
}, sys.stdout)
