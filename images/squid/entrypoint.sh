#!/bin/sh
# Runs Squid for one attempt: refuse a configuration that Squid has anything to
# say about, then stream the access log until Squid ends. Exit codes: 78 the
# configuration is refused, otherwise Squid's own.
set -eu

# Bytes are bytes: ranges in patterns must not depend on a locale.
export LC_ALL=C

config=${ZT_SQUID_CONFIG_DIR:-/etc/zt/squid}
run=${ZT_SQUID_RUN_DIR:-/run/squid}

refuse() {
	echo "squid: refused to start: $1" >&2
	[ -z "${2:-}" ] || tail -n 20 "$2" >&2
	exit 78
}

for file in squid.conf ca.pem; do
	[ -r "$config/$file" ] || refuse "$config/$file is missing or not readable"
done

# What an earlier container in this pod left is not ours: its log was its own.
rm -rf "$run/ssl_db" "$run/access.log" "$run/cache.log" "$run/upstream-ca.pem"
: >"$run/access.log"

# The registries' CA bundle is configuration; without it, the image's own.
upstream=$config/upstream-ca.pem
[ -r "$upstream" ] || upstream=/etc/ssl/certs/ca-certificates.crt
ln -s "$upstream" "$run/upstream-ca.pem"

/usr/lib/squid/security_file_certgen -c -s "$run/ssl_db" -M 4MB >"$run/certgen.log" 2>&1 ||
	refuse "the certificate database cannot be made" "$run/certgen.log"

# A bad regular expression is only a line in Squid's output, with exit code 0.
squid -k parse -f "$config/squid.conf" >"$run/parse.log" 2>&1 ||
	refuse "the configuration does not parse" "$run/parse.log"
if grep -E 'ERROR|WARNING|FATAL' "$run/parse.log" >"$run/complaints.log"; then
	refuse "Squid complains about the configuration" "$run/complaints.log"
fi

squid -N -f "$config/squid.conf" 2>"$run/stderr.log" &
squid=$!
trap 'kill -KILL "$squid" 2>/dev/null || true' TERM INT

# The first line tells a reader that nothing before it was rotated away.
printf '{"v":1,"start":"%s"}\n' "$(squid -v | sed -n '1s/.*Version //p')"
# tail ends by itself, with the last lines read, after Squid is gone.
tail -n +1 -s 0.2 -F --pid="$squid" "$run/access.log" 2>/dev/null &
tail=$!

code=0
wait "$squid" || code=$?
# A trapped signal interrupts the first wait; the second one has the real code.
if kill -0 "$squid" 2>/dev/null; then code=0; wait "$squid" || code=$?; fi
wait "$tail" || true
echo "squid: ended with code $code" >&2
tail -n 20 "$run/stderr.log" "$run/cache.log" >&2 2>/dev/null || true
# Last: a kubelet keeps the end of what is said here.
grep -hs 'FATAL:' "$run/cache.log" | tail -n 3 >&2 || true
exit "$code"
