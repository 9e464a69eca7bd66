import { jsonSchema, readRepositoryFile, repositoryFileJsonSchema } from '@headgate/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { policyOf, withRoute } from './say.js';

const detailOf = (text: string): string => {
  const reading = readRepositoryFile(text);
  if (reading.ok) throw new Error('the file was accepted');
  return reading.detail;
};

describe('.headgate.yaml', () => {
  it('I7: is read whole, for all routes and for one', () => {
    const reading = readRepositoryFile(`version: 1
mode: propose
limits: { wallClock: 10m, costUsd: 1 }
maxOpenPullRequests: 1
protectedPaths: [ db/** ]
setup: [ npm ci ]
routes:
  tidy: { enabled: false }
`);
    expect(reading).toMatchObject({
      ok: true,
      file: {
        all: {
          enabled: true,
          mode: 'propose',
          limits: { wallClockMs: 600_000, costUsd: 1 },
          maxOpenPullRequests: 1,
          protectedPaths: ['db/**'],
          setup: ['npm ci'],
        },
        routes: { tidy: { enabled: false } },
      },
    });
  });

  it.each([
    ['version: 1\nmod: act\n', '.headgate.yaml:2:1 mod: "mod" is not known here. Did you mean "mode"?'],
    ['mode: act\n', 'version: the version of the file is missing. Write version: 1 as the first line.'],
    ['version: 2\n', 'version 2 is of a newer Headgate; this one reads version 1.'],
    ['version: one\n', 'version "one" is not known. Write version: 1.'],
    ['', 'the file is empty'],
    ['version: 1\nagent: mine\n', '"agent" is not known here'],
    ['version: 1\nprotectedPaths: [ ../x ]\n', 'leads out of the repository'],
    [`version: 1\nprompt: ${'x'.repeat(70_000)}\n`, 'more than 64 KiB'],
    ['version: 1\n\tmode: act\n', 'tab'],
  ])('is refused with its place and what to do: %j', (text, expected) => {
    expect(detailOf(text)).toContain(expected);
  });

  it('any text is read or refused, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(typeof readRepositoryFile(text).ok).toBe('boolean');
      }),
    );
  });

  it('has a JSON Schema, as headgate.yaml has; both know their own keys only', () => {
    expect(repositoryFileJsonSchema()).toMatchObject({
      title: '.headgate.yaml',
      additionalProperties: false,
      required: ['version'],
    });
    const route = JSON.stringify(jsonSchema());
    expect(route).toContain('"anyOf":[{"required":["on"]},{"required":["use"]}]');
  });
});

describe('repositoryFile of a route', () => {
  it('is read on a real forge and not on this machine, unless the route says so', async () => {
    const of = async (line: string | null, realForge: boolean) =>
      (await policyOf(line === null ? withRoute() : withRoute(line), { realForge })).routes[0]
        ?.repositoryFile;
    expect(await of(null, true)).toEqual({ allow: [] });
    expect(await of(null, false)).toBeNull();
    expect(await of('repositoryFile: false', true)).toBeNull();
    expect(await of('repositoryFile: true', false)).toEqual({ allow: [] });
    expect(await of('repositoryFile: { allow: [verify] }', false)).toEqual({ allow: ['verify'] });
  });
});
