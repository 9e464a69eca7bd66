/**
 * The console's search among very many receipts, asked over HTTP as a browser asks. What counts is how much of the
 * database each question looks at: that does not depend on the machine.
 */
import { readSettings } from '@headgate/config';
import { createConsole } from '@headgate/console';
import { createContext, listen } from '@headgate/service';
import { apiTokens, generateToken } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { explainEverything, type Plan, seedReceipts, seedTenant, watch } from '@headgate/testkit/measure';
import { type Instance, openInstance } from '../harness/instance.js';
import type { Place } from '../harness/place.js';
import { median } from '../harness/rounds.js';
import type { Bench, Part, Row } from '../harness/row.js';

const DATABASE = 'receipts';
const ASKED = 15;

/** A page looks at no more than this of the database, whatever it holds. */
const PAGE_BUFFERS = 1_200;
const LOOKED_THROUGH_BUFFERS = 8_000;

interface Question {
  readonly name: string;
  readonly path: string;
  readonly mostBuffers: number;
}

export const receipts: Part = {
  name: 'receipts',
  run: async ({ place, effort, say }: Bench) => {
    const instance = await openInstance(place, DATABASE);
    try {
      const like = await seedTenant(instance.db, { route: 'fix', agent: 'fixer' });
      const startedMs = performance.now();
      await seedReceipts(instance.urls.ownerUrl, { like, receipts: effort.receipts });
      say(`receipts: ${effort.receipts} made in ${Math.round((performance.now() - startedMs) / 1000)} s`);
      const token = generateToken();
      await instance.db.service.use((c) =>
        apiTokens.put(c, { token, name: 'bench', role: 'viewer', tenantId: null }),
      );
      const questions = await questionsOf(instance);
      const times = await timesOf(instance, questions, token);
      const buffers = await buffersOf(place, instance, questions, token);
      const among = `among ${effort.receipts.toLocaleString('en').replaceAll(',', ' ')} receipts`;
      return questions.flatMap(({ name, mostBuffers }, at): Row[] => [
        { ...plain(`${name}, ${among}`, 'ms'), ours: times[at] ?? [], target: null },
        {
          ...plain(`pages of the database for ${name}, ${among}`, 'buffers'),
          ours: [buffers[at] ?? Number.NaN],
          target: { kind: 'at-most', value: mostBuffers },
        },
      ]);
    } finally {
      await instance.close();
    }
  },
};

const plain = (name: string, unit: string) => ({ name, unit, against: null });

async function questionsOf(instance: Instance): Promise<readonly Question[]> {
  const [some] = await instance.rows<{ eventId: string; workKey: string }>(
    `select event_id as "eventId", work_key as "workKey" from headgate.receipt
      where work_key is not null order by id limit 1`,
  );
  if (some === undefined) throw new Error('no receipt was made');
  const workKey = encodeURIComponent(some.workKey);
  const until = new Date(Date.now() - HALF_WAY_MS).toISOString();
  const asked = (name: string, filters: string, mostBuffers = PAGE_BUFFERS): Question => ({
    name,
    path: `/v1/receipts${filters}`,
    mostBuffers,
  });
  return [
    asked('the newest page of receipts', ''),
    asked('the receipt of a delivery id', `?eventId=${encodeURIComponent(some.eventId)}`),
    asked('the receipts of a work key', `?workKey=${workKey}`),
    asked('a work key that is not there', '?workKey=no/such/key'),
    asked('the receipts of a repository', '?repository=acme/service-7'),
    asked('a repository that is not there', '?repository=acme/none'),
    asked('the receipts before a time', `?until=${encodeURIComponent(until)}`),
    asked('a common reason', '?reasonCode=NO_ROUTE'),
    asked(
      'a reason that is not there (5 000 looked through)',
      '?reasonCode=HOP_LIMIT',
      LOOKED_THROUGH_BUFFERS,
    ),
  ];
}

/** The receipts lie in the last thirty days. */
const HALF_WAY_MS = 15 * 86_400_000;

/** Of the console as it is deployed, a process of its own. */
async function timesOf(
  instance: Instance,
  questions: readonly Question[],
  token: string,
): Promise<readonly (readonly number[])[]> {
  const { url, child } = await instance.service('console');
  const times: number[][] = [];
  for (const { path } of questions) {
    const all: number[] = [];
    for (let n = 0; n < ASKED; n += 1) {
      const startedMs = performance.now();
      await ask(`${url}${path}`, token);
      all.push(performance.now() - startedMs);
    }
    times.push([median(all.slice(0, 5)), median(all.slice(5, 10)), median(all.slice(10))]);
  }
  await child.end();
  return times;
}

async function ask(url: string, token: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

/** Of all statements of a question together, by a console in this process whose one session explains itself. */
async function buffersOf(
  place: Place,
  { urls }: Instance,
  questions: readonly Question[],
  token: string,
): Promise<readonly number[]> {
  await explainEverything(place.postgres, { database: DATABASE });
  const read = readSettings({}, place.folder);
  if (!read.ok) throw new Error('the default settings are not possible');
  const logger = createLogger('bench', { level: 'silent' });
  const context = createContext({
    settings: read.settings,
    name: 'bench console',
    serviceUrl: urls.serviceUrl,
    apiUrl: urls.apiUrl,
    redisUrl: null,
    logger,
    maxConnections: 1,
  });
  await context.policy.refresh();
  const console = createConsole(context);
  await console.start();
  const routers = console.router === null ? [] : [console.router];
  const edge = await listen({ host: '127.0.0.1', port: 0, logger, routers });
  try {
    const counted: number[] = [];
    for (const { path } of questions) {
      const { plans } = await watch([context.database.api, context.database.service], () =>
        ask(`${edge.url}${path}`, token),
      );
      counted.push(plans.reduce((sum, plan: Plan) => sum + plan.buffers, 0));
    }
    return counted;
  } finally {
    await edge.close();
    await console.stop();
    await context.close();
  }
}
