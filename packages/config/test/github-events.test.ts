import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { problemsOf, withTriggers } from './say.js';

interface Example {
  readonly name: string;
  readonly examples: readonly { readonly action?: string }[];
}
const require = createRequire(import.meta.url);
const examples: readonly Example[] = require('@octokit/webhooks-examples');

describe('GitHub events in routes', () => {
  const types = examples
    .filter(({ name }) => name !== 'ping')
    .flatMap(({ name, examples: payloads }) => [
      `github.${name}`,
      ...payloads.flatMap(({ action }) => (action === undefined ? [] : [`github.${name}.${action}`])),
    ]);

  it('I20: every event and action of GitHub’s own examples may be listened to', async () => {
    expect(types.length).toBeGreaterThan(200);
    for (const list of chunks([...new Set(types)], 50)) {
      // The sound file has no GitHub source: that is the only thing to be said about each.
      const said = (await problemsOf(withTriggers(`[ ${list.join(', ')} ]`))).split('\n');
      expect(said.filter((line) => !line.includes('no github source can send'))).toEqual([]);
      expect(said).toHaveLength(list.length);
    }
  });
});

function chunks<T>(list: readonly T[], length: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / length) }, (_, n) =>
    list.slice(n * length, (n + 1) * length),
  );
}
