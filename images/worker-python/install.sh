#!/bin/sh
# install.sh VERSION REQUIREMENTS: gives Debian's Python the pinned pip and uv, at the places that plans name, and
# compiles everything once. Refuses another Python than the profile will say it is.
set -eu
version=$1 requirements=$2
minor=${version%.*}
wheels=/tmp/wheels bundled=/usr/share/python-wheels packages=/usr/local/lib/python$minor/dist-packages

found=$(python3 -c 'import platform; print(platform.python_version())')
[ "$found" = "$version" ] || { echo "Debian has Python $found now, not $version" >&2; exit 1; }
ln -s "/usr/bin/python$minor" /usr/local/bin/python
ln -s python /usr/local/bin/python3

[ ! -s /run/secrets/ca ] || export PIP_CERT=/run/secrets/ca
bootstrap=$(echo "$bundled"/pip-*.whl)
python3 "$bootstrap/pip" download -q --no-deps --no-cache-dir --only-binary :all: --require-hashes \
	--dest "$wheels" -r "$requirements"

# pip: for the interpreter itself, and as the wheel that venv's ensurepip installs in place of Debian's own.
rm "$bootstrap"
install -m 0644 "$wheels"/pip-*.whl "$bundled/"
python3 -m zipfile -e "$wheels"/pip-*.whl "$packages"
cat >/usr/local/bin/pip <<'PIP'
#!/bin/sh
exec /usr/local/bin/python -m pip "$@"
PIP
chmod 0755 /usr/local/bin/pip

python3 -m zipfile -e "$wheels"/uv-*.whl /tmp/uv
install -m 0755 /tmp/uv/uv-*.data/scripts/uv /usr/local/bin/uv
rm -rf /tmp/uv "$wheels"

# The disk this becomes has other file times: caches that are checked against them would all be thrown away.
find / -xdev -name __pycache__ -prune -exec rm -rf {} +
# The standard library brings sources that are broken on purpose, as test data.
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "/usr/lib/python$minor" /usr/lib/python3 >/dev/null || true
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$packages"
