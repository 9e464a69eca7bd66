// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to secrets are written so
import { canonicalJson, formatDuration, loadConfig, parseDuration } from '@headgate/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { policyOf } from './say.js';

const id = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}[a-z0-9]$/);
const time = fc.integer({ min: 1, max: 90 }).map((minutes) => `${minutes}m`);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const route = fc.record({
  on: fc.uniqueArray(
    fc.oneof(
      fc.constant('manual'),
      fc.constantFrom('github.push', 'github.check_run.completed'),
      fc.record({ cron: fc.constantFrom('@daily', '*/5 * * * *', '@every 2h'), jitter: optional(time) }),
    ),
    { minLength: 1, maxLength: 4, selector: (one) => JSON.stringify(one) },
  ),
  mode: optional(fc.constantFrom('observe', 'propose', 'act')),
  onNewVersion: optional(fc.constantFrom('reject', 'useExisting', 'queueOne', 'cancelOther', 'allow')),
  priority: optional(fc.oneof(fc.constantFrom('urgent', 'low'), fc.integer({ min: -86_400, max: 86_400 }))),
  risk: optional(fc.constantFrom('low', 'CRITICAL')),
  limits: optional(
    fc.record({ wallClock: optional(time), changedFiles: optional(fc.integer({ min: 1, max: 99 })) }),
  ),
  retry: optional(fc.record({ backoff: fc.array(time, { minLength: 1, maxLength: 3 }) })),
  paths: optional(fc.array(fc.constantFrom('src/**', '*.md', 'a b/[c].ts'), { maxLength: 3 })),
  prompt: optional(
    fc
      .string({ minLength: 1, maxLength: 40 })
      .filter((text) => !text.includes('{{') && !text.startsWith('file:')),
  ),
});

const file = fc
  .record({
    routes: fc.dictionary(id, route, { maxKeys: 4, noNullPrototype: true }),
    lease: optional(fc.constant({ ttl: '12s', heartbeat: '3s', renewDeadline: '8s', stopMargin: '4s' })),
  })
  .map(({ routes, lease }) => ({
    version: 1,
    sources: {
      gh: {
        kind: 'github',
        webhookSecrets: ['${SECRET:-x}'],
        repositories: { 'acme/api': { url: 'local:api.git' } },
      },
    },
    agents: { tool: { runtime: 'command', command: ['tool'] } },
    routes,
    ...(lease === undefined ? {} : { lease }),
  }));

const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('the policy of a file', () => {
  it('depends on what is written, not on how: key order, style and comments do not change the digest', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const plain = withoutUndefined(content);
        const block = await policyOf(stringify(plain));
        const flow = await policyOf(`# a comment\n${stringify(plain, { collectionStyle: 'flow' })}`);
        const sorted = await policyOf(
          stringify(plain, { sortMapEntries: (a, b) => String(b.key).localeCompare(String(a.key)) }),
        );
        expect(flow).toEqual(block);
        expect(flow.digest).toBe(block.digest);
        // Routes are tried in file order, so their order is meant: only the rest is free.
        if (Object.keys(content.routes).length < 2) expect(sorted.digest).toBe(block.digest);
      }),
      { numRuns: 30 },
    );
  });

  it('is stable: reading it again, or spelling the defaults out, gives the same digest', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const spelled = structuredClone(content) as { routes: Record<string, Record<string, unknown>> };
        for (const one of Object.values(spelled.routes)) {
          one['mode'] ??= 'act';
          one['onNewVersion'] ??= 'cancelOther';
          one['priority'] ??= 'normal';
          one['risk'] ??= 'low';
          one['agent'] ??= 'tool';
          one['dedupe'] ??= '7d';
        }
        const short = await policyOf(stringify(withoutUndefined(content)));
        const long = await policyOf(stringify(withoutUndefined(spelled)));
        expect(long.digest).toBe(short.digest);
      }),
      { numRuns: 30 },
    );
  });

  it('survives JSON, the form in which it is stored', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const policy = await policyOf(stringify(withoutUndefined(content)));
        expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
      }),
      { numRuns: 20 },
    );
  });

  it('changes its digest with any change of meaning', async () => {
    const base = { version: 1, tenants: { default: { weight: 1 } } };
    const digests = await Promise.all(
      [base, { ...base, tenants: { default: { weight: 2 } } }, { ...base, limits: { maxActive: 3 } }].map(
        async (content) => (await policyOf(stringify(content))).digest,
      ),
    );
    expect(new Set(digests).size).toBe(3);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('loadConfig', () => {
  it('answers any text with a policy or with problems, and never throws', async () => {
    const words = fc.constantFrom(
      ...[
        'version: 1\n',
        'routes:',
        ' ',
        '\n',
        '  ',
        '- ',
        '[',
        ']',
        '{',
        '}',
        ': ',
        '&a ',
        '*a',
        '"',
        "'",
        '#',
      ],
      ...[
        'a',
        'on',
        '!x ',
        '? ',
        '| ',
        '> ',
        '---\n',
        '%YAML 1.2\n',
        '\t',
        '\u0000',
        '🌊',
        'sources',
        'agents',
        ',',
      ],
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(words, { maxLength: 40 }).map((parts) => parts.join('')),
        async (text) => {
          const result = await loadConfig({ text, env: {} });
          if (result.ok) return;
          expect(result.problems.length).toBeGreaterThan(0);
          for (const { message, fix, line, column } of result.problems) {
            expect(message).not.toBe('');
            expect(fix).not.toBe('');
            expect(line === null || line >= 1).toBe(true);
            expect(column === null || column >= 1).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('answers any well-formed data with a policy or with problems that stay inside the file', async () => {
    const anything = fc.object({
      maxDepth: 4,
      key: fc.constantFrom('on', 'cron', 'tidy', 'kind', 'url', '__proto__', 'a.b'),
      withBigInt: false,
    });
    const sections = fc.record({
      version: fc.constantFrom(1, '1'),
      routes: anything,
      sources: anything,
      agents: anything,
      queues: fc.array(anything, { maxLength: 2 }),
      lease: anything,
    });
    await fc.assert(
      fc.asyncProperty(sections, async (content) => {
        const text = stringify(withoutUndefined(content));
        const lines = text.split('\n').length;
        const result = await loadConfig({ text, env: {} });
        if (!result.ok) for (const { line } of result.problems) expect(line ?? 1).toBeLessThanOrEqual(lines);
        else expect(parse(text)).toMatchObject({ version: 1 });
      }),
      { numRuns: 200 },
    );
  });
});

describe('durations', () => {
  it('mean the same when they are written and read again', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 * 86_400_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  it.each([
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
    ['500ms', 500],
    ['', null],
    ['30', null],
    ['30m1h', null],
    ['1.5h', null],
    ['-1s', null],
  ])('%s is %s ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

describe('canonicalJson', () => {
  it('gives one text for one content', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (content) => {
        const reversed = Object.fromEntries(Object.entries(content).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(content));
        expect(JSON.parse(canonicalJson(content))).toEqual(JSON.parse(JSON.stringify(content)));
      }),
    );
  });
});
