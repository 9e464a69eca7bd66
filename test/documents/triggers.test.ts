/** The pages about triggers, typed by a reader of today: each command, in order, against a fresh instance. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, REPOSITORY_ROOT } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { type Block, blocksIn, brokenPromise } from './blocks.js';
import { aReader, type Reader } from './reader.js';

const FOLDER = 'docs/triggers';
const pages = readdirSync(join(REPOSITORY_ROOT, FOLDER));
const blocksOf = (page: string): readonly Block[] =>
  blocksIn(`${FOLDER}/${page}`, readFileSync(join(REPOSITORY_ROOT, FOLDER, page), 'utf8'));

describe('the pages about triggers', () => {
  it('each have something to type that promises what it shows', () => {
    const silent = pages.filter((page) => !blocksOf(page).some(({ promises }) => promises.length > 0));
    expect(silent).toEqual([]);
  });

  it('show what they promise when their commands are typed on a fresh start', {
    timeout: 180_000,
  }, async () => {
    const reader = await aReader();
    // Who waits for a run at the head of main must not have it moved by another page.
    const waiting = pages.filter((page) => blocksOf(page).some(({ script }) => script.includes('--wait')));
    const others = pages.filter((page) => !waiting.includes(page));
    await Promise.all(
      [waiting, others].map(async (lane) => {
        for (const block of lane.flatMap(blocksOf)) await kept(block, reader);
      }),
    );
  });
});

async function kept(block: Block, reader: Reader): Promise<void> {
  let shown = await reader.type(block);
  if (block.mayWait && brokenPromise(block, shown) !== null) {
    await eventually(
      async () => {
        shown = await reader.type(block);
        return brokenPromise(block, shown) === null;
      },
      { what: `${block.place} shows what it promises`, deadlineMs: 60_000, everyMs: 500 },
    );
  }
  expect(brokenPromise(block, shown), `${block.place} showed:\n${shown}`).toBeNull();
}

describe('a block of a page', () => {
  const page =
    "```sh\n# a moment later\na   # → one: as an aside → two\nb '# no'\n```\ntext\n```sh\nc\n```\n";
  const [first, second] = blocksIn('p.md', page);

  it('promises what stands behind its arrows, and may be typed again where it says so', () => {
    expect(first).toMatchObject({ place: 'p.md, block 1', promises: ['one', 'two'], mayWait: true });
    expect(second).toMatchObject({ place: 'p.md, block 2', promises: [], mayWait: false });
  });

  it('keeps its promises in their order only', () => {
    if (first === undefined) throw new Error('there is a first block');
    expect(brokenPromise(first, 'x one x two x')).toBeNull();
    expect(brokenPromise(first, 'two one')).toBe('two');
    expect(brokenPromise(first, '')).toBe('one');
  });
});
