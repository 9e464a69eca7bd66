import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENVIRONMENT, jsonSchema, readRepositoryFile } from '@headgate/config';
import { describe, expect, it } from 'vitest';
import { policyOf } from './say.js';

const document = await readFile(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8');

/** Every key that may be written, wherever in the file. A key may itself be called "properties". */
function keysOf(schema: unknown, keys = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return keys;
  for (const [word, value] of Object.entries(schema)) {
    const isMap = word === 'properties' && typeof value === 'object' && value !== null;
    if (!isMap) {
      keysOf(value, keys);
      continue;
    }
    for (const [key, below] of Object.entries(value)) {
      keys.add(key);
      keysOf(below, keys);
    }
  }
  return keys;
}

describe('docs/routes.md', () => {
  it('shows files that load, and a .headgate.yaml that is sound', async () => {
    const routes = await readFile(join(import.meta.dirname, '../../../docs/routes.md'), 'utf8');
    const blocks = [...routes.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    const [own, central] = [true, false].map((isOwn) =>
      blocks.filter((text) => text.startsWith('# .headgate.yaml') === isOwn),
    );
    expect([own?.length, central?.length]).toEqual([1, 2]);
    for (const text of central ?? []) expect((await policyOf(text)).routes.length).toBeGreaterThan(1);
    for (const text of own ?? []) expect(readRepositoryFile(text)).toMatchObject({ ok: true });
  });
});

describe('docs/configuration.md', () => {
  it('names every key of the schema', () => {
    const keys = [...keysOf(jsonSchema())];
    expect(keys.length).toBeGreaterThan(60);
    expect(keys.filter((key) => !new RegExp(`[\`.{ ]${key}[\`:, }]`).test(document))).toEqual([]);
  });

  it('lists every environment variable with its default and its sentence', () => {
    for (const { name, defaultValue, description } of ENVIRONMENT) {
      expect(document).toContain(
        `| \`${name}\` | ${defaultValue === null ? '' : `\`${defaultValue}\``} | ${description} |`,
      );
    }
  });

  it('shows a file that loads', async () => {
    const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(document) ?? [];
    const policy = await policyOf(yaml ?? '');
    expect(policy.routes.map(({ id, mode }) => `${id} ${mode}`)).toEqual(['fix-failing-check propose']);
  });
});
