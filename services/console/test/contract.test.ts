/** Every declared route, asked rightly and wrongly: what it answers is what the document says. */
import { formatId } from '@headgate/domain';
import { proposedRun, seedRun } from '@headgate/testkit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../src/console.js';
import type { Route } from '../src/http/index.js';
import { openApiDocument } from '../src/openapi/document.js';
import { problemSchema } from '../src/schemas/index.js';
import { EventStream } from '../src/stream/index.js';
import { aConsole, type TestConsole } from './a-console.js';
import { type IsolatedConsole, isolatedConsole } from './foreign.js';
import { admissionOf, admitted, received } from './seeds.js';

interface Described {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: object;
  };
}
interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly requestBody?: object;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

let test: TestConsole;
let routes: readonly Route[];
let document: Described;
/** Ids of things that are there, for the paths. */
let ids: Readonly<Record<string, string>>;
let requestId: IsolatedConsole['requestId'];
/** Of the actions that take something. */
const BODIES: Readonly<Record<string, object>> = {
  resetTask: { cancelLive: true },
  retryRun: { cancelLive: true },
  actOnRuns: { action: 'cancel', filter: { route: 'no-such-route' }, dryRun: true },
  backfillSchedule: { from: '2026-01-01T00:00:00Z', until: '2026-01-01T03:00:00Z' },
};

beforeAll(async () => {
  const isolated = await isolatedConsole();
  test = isolated.test;
  const { foreign } = isolated;
  requestId = isolated.requestId;
  const run = await admitted(test);
  const waiting = () => seedRun(test.store, { tenant: test.tenant, status: 'WAITING_APPROVAL' });
  const proposed = () => proposedRun(test.store, { tenant: test.tenant });
  const delivery = await received(test, 'contract');
  const schedule = formatId('sch', isolated.scheduleId);
  routes = consoleRoutes(test.context, admissionOf(test), new EventStream(test.context));
  document = await test.json<Described>('/openapi.json');
  ids = {
    '/v1/receipts/{id}': formatId('rcpt', run.receiptId),
    '/v1/receipts/{id}/replay': formatId('rcpt', delivery.receiptId),
    '/v1/tasks/{id}': formatId('task', run.taskId),
    '/v1/runs/{id}': formatId('run', foreign.runId),
    '/v1/runs/{id}/artifacts': formatId('run', foreign.runId),
    '/v1/runs/{id}/artifacts/{name}': formatId('run', foreign.runId),
    '/v1/runs/{id}/result': formatId('run', foreign.runId),
    '/v1/runs/{id}/logs': formatId('run', foreign.runId),
    '/v1/runs/{id}/logs/{name}': formatId('run', foreign.runId),
    '/v1/runs/{id}/logs/{name}/matches': formatId('run', foreign.runId),
    '/v1/runs/{id}/cancel': formatId('run', run.runId),
    '/v1/runs/{id}/retry': formatId('run', run.runId),
    '/v1/runs/{id}/publish': formatId('run', (await proposed()).runId),
    '/v1/runs/{id}/discard': formatId('run', (await proposed()).runId),
    '/v1/runs/{id}/approve': formatId('run', (await waiting()).runId),
    '/v1/runs/{id}/decline': formatId('run', (await waiting()).runId),
    '/v1/tasks/{id}/cancel': formatId('task', run.taskId),
    '/v1/tasks/{id}/reset': formatId('task', run.taskId),
    '/v1/schedules/{id}': schedule,
    '/v1/goals/{id}': formatId('goal', isolated.goalId),
    '/v1/goals/{id}/pause': formatId('goal', isolated.goalId),
    '/v1/goals/{id}/resume': formatId('goal', isolated.goalId),
    '/v1/goals/{id}/reset': formatId('goal', isolated.goalId),
    '/v1/schedules/{id}/requests/{request}': schedule,
    '/v1/schedules/{id}/pause': schedule,
    '/v1/schedules/{id}/resume': schedule,
    '/v1/schedules/{id}/trigger': schedule,
    '/v1/schedules/{id}/backfill': schedule,
  };
});

const pathOf = ({ spec }: Route, id = ids[spec.path] ?? ''): string =>
  spec.path
    .replace('{id}', id)
    .replace('{name}', spec.path.includes('/logs/') ? 'agent.log' : 'secret.log')
    .replace('{request}', formatId('sreq', requestId));
/** What a route cannot do without. */
const NEEDS: Readonly<Record<string, string>> = {
  explain: 'ref=acme/api',
  readLog: 'attempt=1',
  searchLog: 'attempt=1&text=secret',
};
const queryOf = ({ spec }: Route): string => NEEDS[spec.id] ?? '';
const asks = (one: Route, path: string, body: unknown = {}) =>
  test.ask(path, one.spec.method === 'get' ? {} : { method: 'POST', body });

describe('the OpenAPI document', () => {
  it('is 3.1, and every reference, parameter and security in it leads somewhere', () => {
    expect(document.openapi).toBe('3.1.0');
    const text = JSON.stringify(document);
    const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(document.components.schemas, name).toHaveProperty([name]);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
          expect(operation.parameters).toContainEqual(
            expect.objectContaining({ name, in: 'path', required: true }),
          );
        }
        for (const response of Object.values(operation.responses))
          expect(response).toHaveProperty('description');
        for (const scheme of operation.security ?? []) {
          expect(document.components.securitySchemes).toHaveProperty(Object.keys(scheme));
        }
      }
    }
    const operationIds = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => operation.operationId),
    );
    expect(new Set(operationIds).size).toBe(operationIds.length);
  });

  it('describes every route that is served, and what intake serves beside it', () => {
    for (const { spec } of routes)
      expect(document.paths[spec.path]?.[spec.method]?.operationId).toBe(spec.id);
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/v1/work', '/webhooks/{source}']));
    expect(openApiDocument(routes, '0.1.0')).toEqual(document);
  });
});

describe('every route', () => {
  const ajv = () => {
    const validator = new Ajv2020({ strict: false, validateFormats: false });
    validator.addSchema({ $id: 'api', components: document.components });
    return validator;
  };
  const schemaIn = (schema: object): object =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as object;

  it('answers in the described shape, with no field missing and none that is not described', async () => {
    const validator = ajv();
    // Looking first: the actions change what the others would see.
    for (const one of [...routes].sort((a, b) => a.spec.method.localeCompare(b.spec.method))) {
      const { spec } = one;
      const response = await asks(one, `${pathOf(one)}?${queryOf(one)}`, BODIES[spec.id]);
      if (spec.answer.schema === 'events') {
        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toContain('text/event-stream');
        await response.body?.cancel();
        continue;
      }
      const text = await response.text();
      expect(response.status, `${spec.id}: ${text}`).toBe(spec.answer.status);
      if (spec.answer.schema === 'bytes') continue;
      const answer: unknown = JSON.parse(text);
      expect(spec.answer.schema.parse(answer), spec.id).toEqual(answer);
      const described =
        document.paths[spec.path]?.[spec.method]?.responses[spec.answer.status]?.content?.[
          'application/json'
        ];
      const validate = validator.compile(schemaIn(described?.schema ?? { not: {} }));
      expect(validate(answer), `${spec.id}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  it.each([
    ['a key twice', '{"a":1,"a":2}', 'The JSON holds a key twice in one object.'],
    ['a key twice, spelt twice', '{"a":{"b":1,"\\u0062":2}}', 'The JSON holds a key twice in one object.'],
    ['a NUL', '{"note":"a\\u0000b"}', 'The JSON holds a NUL character.'],
    ['half a surrogate pair', '{"note":"\\ud800"}', 'The JSON holds half of a surrogate pair.'],
    ['a prototype', '{"__proto__":{"role":"admin"}}', 'The JSON holds the key __proto__.'],
    ['a prototype further in', '{"a":[{"\\u005f_proto__":1}]}', 'The JSON holds the key __proto__.'],
    ['a number beyond a double', '{"a":1e999}', 'The JSON holds a number that is too large.'],
    ['depth', `${'['.repeat(1_000)}${']'.repeat(1_000)}`, 'The JSON is nested deeper than 100 levels.'],
    ['no JSON', '{"a":', 'The body is not valid JSON.'],
  ])('that takes a body refuses one that holds %s, and does nothing', async (_what, body, detail) => {
    const taking = routes.filter(({ spec }) => spec.body !== null);
    expect(taking.length).toBeGreaterThan(10);
    for (const one of taking) {
      const response = await asks(one, pathOf(one), body);
      const problem: unknown = await response.json();
      expect(problem, one.spec.id).toMatchObject({ status: 400, code: 'BAD_REQUEST', detail });
    }
    const signIn = await test.ask('/session', { method: 'POST', body, headers: { origin: test.url } });
    expect(await signIn.json()).toMatchObject({ status: 400, code: 'BAD_REQUEST', detail });
  });

  it('refuses what it does not understand with a problem that names it', async () => {
    for (const one of routes) {
      const path = pathOf(one);
      const strange = await asks(one, `${path}?nonsense=1&${queryOf(one)}`);
      expect(strange.status, one.spec.id).toBe(400);
      expect(strange.headers.get('content-type')).toContain('application/problem+json');
      const problem: unknown = await strange.json();
      expect(problemSchema.parse(problem)).toEqual(problem);
      expect(problem).toMatchObject({ code: 'BAD_REQUEST', detail: expect.stringContaining('nonsense') });
      if (one.spec.body !== null) {
        const broken = await asks(one, path, { nonsense: 1 });
        expect(broken.status, one.spec.id).toBe(400);
        expect(await broken.json()).toMatchObject({ detail: expect.stringContaining('nonsense') });
      }
    }
  });

  it('bounds its pages and refuses cursors that are not its own', async () => {
    for (const one of routes.filter(
      ({ spec }) => spec.id.startsWith('list') && spec.id !== 'listArtifacts' && spec.id !== 'listLogs',
    )) {
      for (const query of ['limit=0', 'limit=201', 'limit=x', 'limit=1.5', 'limit=1&limit=2']) {
        expect((await test.ask(`${one.spec.path}?${query}`)).status, `${one.spec.id} ${query}`).toBe(400);
      }
      expect((await test.ask(`${one.spec.path}?limit=200`)).status).toBe(200);
      if (one.spec.id === 'listQueues' || one.spec.id === 'listSources') continue;
      for (const cursor of ['x', 'bm90LWFuLWlk', "'%20or%201=1"]) {
        expect((await test.ask(`${one.spec.path}?cursor=${cursor}`)).status, one.spec.id).toBe(400);
      }
    }
    for (const query of [
      'status=DONE',
      'publicStatus=ok',
      'since=yesterday',
      'until=1',
      'route=',
      'route=a%00b',
      'waitingReason=WHY',
      `ids=${'run_x,'.repeat(201)}`,
    ]) {
      expect((await test.ask(`/v1/runs?${query}`)).status, query).toBe(400);
    }
    for (const query of ['outcome=ok', 'reasonCode=WHY', 'kind=both']) {
      expect((await test.ask(`/v1/receipts?${query}`)).status, query).toBe(400);
    }
    for (const query of ['', 'ref=', 'ref=%00', `ref=${'x'.repeat(2_049)}`, 'ref=a&ref=b']) {
      expect((await test.ask(`/v1/explain?${query}`)).status, query.slice(0, 20)).toBe(400);
    }
  });

  it('answers 503, and says when to try again, while Postgres is away', async () => {
    const away = await aConsole({ apiUrl: 'postgres://headgate_api:secret@127.0.0.1:1/nowhere' });
    for (const path of ['/v1/runs', '/openapi.json']) {
      const response = await away.ask(path);
      expect(response.status, path).toBe(503);
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      const text = await response.text();
      expect(text).toContain('DATABASE_UNAVAILABLE');
      expect(text).not.toMatch(/secret|127\.0\.0\.1|\.ts:/);
    }
  });
});
