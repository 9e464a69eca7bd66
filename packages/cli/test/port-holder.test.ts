import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { portHolder, portTaken } from '../src/up/port-holder.js';

describe.runIf(process.platform === 'linux')('who holds a port', () => {
  it.each(['127.0.0.1', '::1'])('is found on %s by its process and command line', async (host) => {
    const server = createServer();
    server.listen(0, host);
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    expect(portHolder(port)).toMatchObject({ pid: process.pid });
    expect(portTaken(port)).toContain(`process ${process.pid} (`);
  });

  it('is nobody for a port that is free', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(portHolder(port)).toBeNull();
  });
});
