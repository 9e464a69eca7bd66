/**
 * Runs in a sandbox, above the command: listens on the sandbox's own loopback, hands each connection to the proxy
 * outside through its Unix socket, and starts the command with the variables that name it as the proxy. A command
 * that kills it ends its own sandbox.
 *
 *   node relay.mjs /path/of/the/socket command argument…
 *
 * Uses nothing but Node: no other file of ours is in the sandbox.
 */
import { spawn } from 'node:child_process';
import { type AddressInfo, connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [socketPath = '', command = '', ...args] = process.argv.slice(2);
const ITSELF = 'localhost,127.0.0.1,::1';

const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: socketPath, allowHalfOpen: true });
  const end = (): void => {
    client.destroy();
    proxy.destroy();
  };
  client.on('error', end);
  proxy.on('error', end);
  client.pipe(proxy).pipe(client);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      NO_PROXY: ITSELF,
      no_proxy: ITSELF,
      NODE_USE_ENV_PROXY: '1',
    },
  });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (fault) => {
    console.error(`headgate relay: ${fault.message}`);
    process.exit(127);
  });
  child.on('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
});
