/**
 * What a page asks its reader to type, and what it promises to show.
 *
 *   ```sh
 *   # a moment later                       the block only looks, and may be typed again until it shows what it promises
 *   npx headgate runs list   # → tidy      a promise: "tidy" is shown, after what was promised before it
 *   ```
 */
export interface Block {
  /** `docs/triggers/goals.md, block 2`. */
  readonly place: string;
  readonly script: string;
  /** In the order in which they are shown. */
  readonly promises: readonly string[];
  readonly mayWait: boolean;
}

const FENCE = /^```sh\n([\s\S]*?)^```/gm;
const PROMISES = /#((?: → [^→\n]+)+)$/gm;
/** What stands behind a promise's colon is said to people. */
const ASIDE = /:\s.*$/;

export function blocksIn(page: string, text: string): readonly Block[] {
  return [...text.matchAll(FENCE)].map(([, script = ''], at) => ({
    place: `${page}, block ${at + 1}`,
    script,
    promises: [...script.matchAll(PROMISES)].flatMap(([, list = '']) =>
      list
        .split(' → ')
        .map((promise) => promise.replace(ASIDE, '').trim())
        .filter((promise) => promise !== ''),
    ),
    mayWait: script.startsWith('# a moment later\n'),
  }));
}

/** The first promise that `shown` does not keep in its turn; null when all are kept. */
export function brokenPromise({ promises }: Block, shown: string): string | null {
  let from = 0;
  for (const promise of promises) {
    const at = shown.indexOf(promise, from);
    if (at === -1) return promise;
    from = at + promise.length;
  }
  return null;
}
