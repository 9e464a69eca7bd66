/**
 * Signed deliveries, as many as are wanted, thrown at a port by wrk (by autocannon where there is no wrk). They are made
 * and signed beforehand: the load costs little of what it measures.
 */
import { createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { findSample, sampleDelivery } from '@headgate/sources';
import { TEST_SECRET } from '../../world/policy.js';
import { Child } from './processes.js';
import type { Bench } from './row.js';

export interface LoadOptions {
  readonly url: string;
  readonly seconds: number;
  readonly requests: Requests;
}

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were not 2xx, and requests without one. */
  readonly failed: number;
}

/** A folder of requests. */
export interface Requests {
  readonly folder: string;
  readonly event: string;
}

const CONNECTIONS = 64;
const PATH = '/webhooks/forge';
const NUMBER = '1234567890';

/**
 * A failed check of about 10 KB, its pull request and name by a number, so that each number is other work: the parts
 * between which the number goes.
 */
export function failedCheck(): readonly string[] {
  const found = findSample('check_run.completed#0');
  if (found.kind === 'unknown') throw new Error(found.detail);
  const subject = {
    repository: { id: 42, fullName: 'acme/api', defaultBranch: 'main' },
    branch: 'topic',
    headSha: 'a'.repeat(40),
    baseSha: null,
    at: new Date(),
  };
  const delivery = sampleDelivery({
    sample: found.sample,
    sourceId: 'forge',
    secret: TEST_SECRET,
    deliveryId: '',
    subject,
  });
  const payload = JSON.parse(delivery.body.toString('utf8')) as {
    check_run: { name: string; pull_requests: { number: number; id: number }[] };
  };
  payload.check_run.name = `unit ${NUMBER}`;
  for (const pull of payload.check_run.pull_requests) {
    pull.number = Number(NUMBER);
    pull.id = Number(NUMBER);
  }
  return JSON.stringify(payload).split(NUMBER);
}

/** @param from numbers begin here; the same numbers are the same work, and the same deliveries. */
export function makeRequests(
  folder: string,
  options: {
    readonly count: number;
    readonly from: number;
    readonly event?: string;
    readonly sameWork?: boolean;
  },
): Requests {
  const parts = failedCheck();
  const lines: string[] = [];
  for (let n = 0; n < options.count; n += 1) {
    const number = String(1_000_000_000 + options.from + (options.sameWork === true ? 0 : n));
    const signature = createHmac('sha256', TEST_SECRET).update(parts.join(number)).digest('hex');
    lines.push(`${number} d-${options.from + n} sha256=${signature}`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/parts`, parts.join('\u0001'));
  writeFileSync(`${folder}/lines`, `${lines.join('\n')}\n`);
  const event = options.event ?? 'check_run';
  writeFileSync(
    `${folder}/requests.json`,
    JSON.stringify({
      path: PATH,
      parts,
      headers: { 'content-type': 'application/json', 'x-github-hook-id': '1', 'x-github-event': event },
      lines: lines.map((line) => line.split(' ')),
    }),
  );
  return { folder, event };
}

export async function load({ peers, wrk }: Bench, { url, seconds, requests }: LoadOptions): Promise<Load> {
  const script = new URL('wrk.lua', import.meta.url).pathname;
  const child =
    wrk === null
      ? new Child(
          peers.node,
          [
            `${peers.folder}/autocannon.mjs`,
            url,
            String(seconds),
            String(CONNECTIONS),
            `${requests.folder}/requests.json`,
          ],
          {},
        )
      : new Child(wrk, ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, url], {
          BENCH_REQUESTS: requests.folder,
          BENCH_PATH: PATH,
          BENCH_EVENT: requests.event,
        });
  return child.said('what it did', (line) =>
    typeof line['requests'] === 'number' ? (line as unknown as Load) : undefined,
  );
}
