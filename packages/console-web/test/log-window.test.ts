import type { LogRange } from '@headgate/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LogWindow,
  lineAt,
  shownLine,
  windowOf,
  withEarlier,
  withLater,
} from '../src/run/log-window.js';

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;

/** A log, and every place between two of its characters: wherever it may be cut. */
interface Log {
  readonly text: string;
  readonly places: readonly { readonly at: number; readonly byte: number }[];
}

function logOf(text: string): Log {
  let at = 0;
  let byte = 0;
  const places = [{ at, byte }];
  for (const character of text) {
    at += character.length;
    byte += bytesOf(character);
    places.push({ at, byte });
  }
  return { text, places };
}

function rangeOf({ text, places }: Log, from: number, to: number): LogRange {
  const last = places.length - 1;
  const start = places[Math.min(from, last)] ?? { at: 0, byte: 0 };
  const end = places[Math.min(Math.max(from, to), last)] ?? start;
  return {
    attempt: 1,
    name: 'agent.log',
    offset: start.byte,
    nextOffset: end.byte,
    bytes: places[last]?.byte ?? 0,
    isComplete: false,
    text: text.slice(start.at, end.at),
  };
}

const placeOf = ({ places }: Log, byte: number): number => places.findIndex((place) => place.byte === byte);

/** What the window shows, as text: the very bytes from its start to its end. */
const textOf = ({ lines, isLastOpen }: LogWindow): string =>
  lines.map(({ text }, index) => (isLastOpen && index === lines.length - 1 ? text : `${text}\n`)).join('');

const held = (log: Log, { start, end }: LogWindow): string =>
  rangeOf(log, placeOf(log, start), placeOf(log, end)).text;

const text = fc
  .array(fc.oneof(fc.constantFrom('\n', '\n', '\r\n', 'ä', '✓', '𝄞'), fc.string({ maxLength: 8 })), {
    maxLength: 60,
  })
  .map((parts) => parts.join(''));
const step = fc.record({
  kind: fc.constantFrom('later' as const, 'earlier' as const, 'again' as const),
  length: fc.nat(30),
  from: fc.nat(200),
});

describe('the part of a log that a page holds', () => {
  it('is what stands in the log between its ends, wherever the stretches were cut', () => {
    fc.assert(
      fc.property(
        text,
        fc.nat(200),
        fc.nat(40),
        fc.array(step, { maxLength: 30 }),
        fc.integer({ min: 1, max: 20 }),
        (whole, from, length, steps, maxLines) => {
          const log = logOf(whole);
          let window = windowOf(rangeOf(log, from, from + length));
          for (const one of steps) {
            if (one.kind === 'again') window = windowOf(rangeOf(log, one.from, one.from + one.length));
            else if (one.kind === 'later') {
              const at = placeOf(log, window.end);
              window = withLater(window, rangeOf(log, at, at + one.length), maxLines);
            } else {
              const at = placeOf(log, window.start);
              window = withEarlier(window, rangeOf(log, Math.max(0, at - one.length), at), maxLines);
            }
            expect(textOf(window)).toBe(held(log, window));
            for (const line of window.lines) {
              expect(held(log, { ...window, start: line.offset }).startsWith(line.text)).toBe(true);
            }
          }
        },
      ),
    );
  });

  it('shows every line once when it is read from its end to its start and then as it grows', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1, max: 30 }), (before, added, length) => {
        const first = logOf(before);
        const last = first.places.length - 1;
        let window = windowOf(rangeOf(first, Math.max(0, last - length), last));
        while (window.start > 0) {
          const at = placeOf(first, window.start);
          window = withEarlier(window, rangeOf(first, Math.max(0, at - length), at));
        }
        const grown = logOf(before + added);
        while (window.end < bytesOf(grown.text)) {
          const at = placeOf(grown, window.end);
          window = withLater(window, rangeOf(grown, at, at + length));
        }
        const parts = grown.text.split('\n');
        if (parts.at(-1) === '') parts.pop();
        expect(window.lines.map((line) => line.text)).toEqual(parts);
      }),
    );
  });

  it('finds the line that holds a byte, and says of others that they are not held', () => {
    fc.assert(
      fc.property(text, fc.nat(100), fc.nat(60), fc.nat(300), (whole, from, length, offset) => {
        const window = windowOf(rangeOf(logOf(whole), from, from + length));
        const index = lineAt(window, offset);
        const isHeld = offset >= window.start && offset < window.end;
        expect(index >= 0).toBe(isHeld);
        if (!isHeld) return;
        expect(window.lines[index]?.offset).toBeLessThanOrEqual(offset);
        expect(window.lines[index + 1]?.offset ?? Number.POSITIVE_INFINITY).toBeGreaterThan(offset);
      }),
    );
  });

  it('leaves a stretch out that does not join it: it is of another log, or came twice', () => {
    const log = logOf('one\ntwo\nthree\n');
    const window = windowOf(rangeOf(log, 4, 8));
    expect(withLater(window, rangeOf(log, 4, 8)).lines).toEqual(window.lines);
    expect(withEarlier(window, rangeOf(log, 0, 3))).toBe(window);
  });

  it('shows text without what colours a terminal', () => {
    expect(shownLine('\u001b[31mred\u001b[0m \u001b]0;title\u0007end\r')).toBe('red end');
  });
});
