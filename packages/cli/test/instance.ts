/** An instance that says what a test wants it to say, on a free loopback port. */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { writeAdminToken, writeInstance } from '../src/instance/files.js';

export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeInstance {
  readonly url: string;
  readonly heard: readonly Heard[];
}

export type Say = (request: Heard) => { readonly status: number; readonly body: unknown };

/** Writes `instance.json` and `admin-token` into the data folder, as a running `up` does. */
export async function fakeInstance(dataDir: string, say: Say): Promise<FakeInstance> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const one: Heard = {
      method: request.method ?? '',
      url: request.url ?? '',
      authorization: request.headers.authorization,
      headers: request.headers,
      body,
    };
    heard.push(one);
    const answer = say(one);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await mkdir(dataDir, { recursive: true });
  writeInstance(dataDir, { url, pid: process.pid, startedAt: '2026-01-31T13:00:00.000Z', version: '0.1.0' });
  writeAdminToken(dataDir, 'hg_folder-token');
  return { url, heard };
}

export const problem = (status: number, code: string, detail: string, receiptId: string | null = null) => ({
  status,
  body: { type: 'about:blank', title: `${code} happened.`, status, detail, code, receiptId },
});
