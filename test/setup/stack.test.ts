import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const STACK = ['bullmq', 'ioredis', 'pg', 'drizzle-orm', 'express', 'zod', '@opentelemetry/sdk-node'];

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const manifestOf = async (path: string): Promise<Manifest> =>
  JSON.parse(await readFile(new URL(`${path}/package.json`, root), 'utf8')) as Manifest;

describe('the stack', () => {
  test('C1: each library of the card is pinned exactly, once, and shipped code depends on it', async () => {
    const workspace = parse(await readFile(new URL('pnpm-workspace.yaml', root), 'utf8')) as {
      readonly catalog: Readonly<Record<string, string>>;
    };
    for (const name of [...STACK, 'vitest']) expect(workspace.catalog[name], name).toMatch(/^\d+\.\d+\.\d+$/);

    const folders = await Promise.all(
      ['packages', 'services'].map(async (parent) =>
        (await readdir(new URL(parent, root))).map((name) => `${parent}/${name}`),
      ),
    );
    const manifests = await Promise.all(folders.flat().map(manifestOf));
    const shipped = new Set(manifests.flatMap(({ dependencies }) => Object.keys(dependencies ?? {})));
    expect(STACK.filter((name) => !shipped.has(name))).toEqual([]);
    expect((await manifestOf('.')).devDependencies).toHaveProperty('vitest', 'catalog:');
  });
});
