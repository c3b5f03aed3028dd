// Serves one request that needs the uplink, so that its code is in the compile
// cache too, then writes the cache and ends.
'use strict';

process.argv[2] ??= '/tmp/config.json';
require('./server.js');

async function until(path, accept) {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:4873${path}`).catch(() => undefined);
    if (response && accept(response.status)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

until('/-/ping', (status) => status === 200)
  .then(() => until('/not-there', () => true))
  .then(() => {
    require('node:module').flushCompileCache?.();
    process.exit(0);
  });
