#!/bin/sh
# install.sh: installs what requirements.txt pins, and compiles it with the standard library: at run time the root is
# read-only.
set -eu
cd /opt/mirror
[ ! -s /run/secrets/ca ] || export PIP_CERT=/run/secrets/ca
pip=$(echo /usr/share/python-wheels/pip-*.whl)/pip
python3 "$pip" install -q --no-deps --no-compile --no-cache-dir --only-binary :all: \
	--require-hashes --root-user-action ignore --target packages -r requirements.txt
rm -rf packages/bin

find / -xdev -name __pycache__ -prune -exec rm -rf {} +
# The standard library brings sources that are broken on purpose, as test data.
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /usr/lib/python3* >/dev/null || true
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/mirror
