#!/bin/sh
# install.sh NPM: installs what package-lock.json pins and warms Node's compile cache by one start.
set -eu
npm=$1/bin/npm-cli.js
[ ! -s /run/secrets/ca ] || export NODE_EXTRA_CA_CERTS=/run/secrets/ca npm_config_cafile=/run/secrets/ca
cd /opt/mirror
node "$npm" ci --omit=dev --ignore-scripts --no-audit --no-fund --cache /tmp/npm-cache
rm -rf /tmp/npm-cache
# What no start reads: type declarations, source maps, documentation.
find node_modules -type f \( -name '*.d.ts' -o -name '*.map' -o -name '*.md' -o -name '*.markdown' \) -delete

# Code is compiled once here instead of at every start of a mirror.
cat >/tmp/config.json <<'CONFIG'
{"storage":"/tmp/storage","listen":["127.0.0.1:4873"],"web":{"enable":false},
 "auth":{"htpasswd":{"file":"/tmp/storage/htpasswd","max_users":-1}},
 "uplinks":{"upstream":{"url":"https://localhost:1/","timeout":"1s","max_fails":1}},
 "packages":{"**":{"access":"$all","proxy":"upstream"}},"middlewares":{},
 "log":{"type":"stdout","format":"json","level":"error"}}
CONFIG
# Node keeps a cache for each user: the mirror's own has to fill it.
install -d -o 1000 -g 1000 compile-cache /tmp/storage
setpriv --reuid 1000 --regid 1000 --clear-groups \
	env NODE_COMPILE_CACHE=/opt/mirror/compile-cache node warm.js /tmp/config.json
rm -rf /tmp/storage /tmp/config.json
chown -R 0:0 compile-cache
chmod -R a+rX,go-w /opt/mirror
