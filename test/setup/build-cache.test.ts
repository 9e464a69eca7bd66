import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const { tasks } = read('turbo.json');

/** Folders of packages that are built by themselves, beside the build of all others. */
const builtAlone = ['packages', 'services'].flatMap((place) =>
  readdirSync(join(ROOT, place))
    .map((name) => `${place}/${name}`)
    .filter((folder) => existsSync(join(ROOT, folder, 'package.json')))
    .filter((folder) => read(`${folder}/package.json`).scripts?.compile !== undefined),
);

// A build that is known is copied from the cache. Where two keep the same folder, the older copy comes back over the newer:
// an updated clone showed the pages of before.
test('what is built by itself is kept in no other build’s copy', () => {
  expect(builtAlone).toContain('packages/console-web');
  for (const folder of builtAlone) {
    const { name } = read(`${folder}/package.json`);
    expect(tasks[`${name}#compile`].outputs).toContain('dist/**');
    expect(tasks['//#compile'].outputs).toContain(`!${folder}/**`);
    expect(tasks['//#compile'].inputs).toContain(`!${folder}/**`);
  }
});
