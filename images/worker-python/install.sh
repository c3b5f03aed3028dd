#!/bin/sh
# install.sh VERSION WHEELS: gives Debian's Python the pinned pip and uv, at the places that plans name, and compiles
# everything once. Refuses another Python than the profile will say it is.
set -eu
version=$1 wheels=$2
lib=/usr/lib/python${version%.*} local=/usr/local/lib/python${version%.*}

found=$(python3 -c 'import platform; print(platform.python_version())')
[ "$found" = "$version" ] || { echo "Debian has Python $found now, not $version" >&2; exit 1; }
ln -s "/usr/bin/python${version%.*}" /usr/local/bin/python
ln -s python /usr/local/bin/python3

# pip: for the interpreter itself, and as the wheel that venv's ensurepip installs in place of Debian's own.
rm -f /usr/share/python-wheels/pip-*.whl
install -m 0644 "$wheels"/pip-*.whl /usr/share/python-wheels/
python3 -m zipfile -e "$wheels"/pip-*.whl "$local/dist-packages"
cat >/usr/local/bin/pip <<'PIP'
#!/bin/sh
exec /usr/local/bin/python -m pip "$@"
PIP
chmod 0755 /usr/local/bin/pip

python3 -m zipfile -e "$wheels"/uv-*.whl /tmp/uv
install -m 0755 /tmp/uv/uv-*.data/scripts/uv /usr/local/bin/uv
rm -rf /tmp/uv

# The disk this becomes has other file times: caches that are checked against them would all be thrown away.
find / -xdev -name __pycache__ -prune -exec rm -rf {} +
status=0
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$lib" "$local" /usr/lib/python3/dist-packages || status=$?
# Broken sources among the standard library's own test data are no failure.
[ -f "$lib/__pycache__/os.cpython-$(echo "${version%.*}" | tr -d .).pyc" ] || exit "$status"
