// Starts Verdaccio from the one configuration file that the operator rendered.
// Its own command line loads as much code again before it listens.
'use strict';

const { readFileSync } = require('node:fs');
const { runServer } = require('verdaccio');

const path = process.argv[2] ?? '/etc/zt/mirror/config.yaml';

async function main() {
  // The operator writes JSON, which is YAML too.
  const config = JSON.parse(readFileSync(path, 'utf8'));
  config.configPath = config.self_path = path;
  const listen = new URL(`http://${[].concat(config.listen)[0]}`);
  const server = await runServer(config);
  server.on('error', fail);
  server.listen(Number(listen.port), listen.hostname.replace(/^\[|\]$/g, ''));
  process.on('SIGTERM', () => process.exit(0));
}

function fail(error) {
  console.error(`mirror: ${error.message}`);
  process.exit(78);
}

main().catch(fail);
