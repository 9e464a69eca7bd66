import { commandOf } from '@headgate/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const FIX = { name: 'fix', argument: 'the flaky test' };
const LINE = '/agent fix the flaky test';

describe('commands in comments', () => {
  it('I2: are read at the start of a line, the first one of several', () => {
    expect(commandOf(LINE)).toEqual(FIX);
    expect(commandOf(`Thanks!\r\n\r\n${LINE}  \r\n/agent deploy now`)).toEqual(FIX);
    expect(commandOf('/agent\tfix')).toEqual({ name: 'fix', argument: '' });
    expect(commandOf('<!-- a note\nof two lines -->\n/agent fix')).toEqual({ name: 'fix', argument: '' });
  });

  it.each([
    ['in the middle of a line', `please ${LINE}`],
    ['indented', ` ${LINE}`],
    ['in a quote', `> ${LINE}`],
    ['in the lazy part of a quote', `> as you said\n${LINE}`],
    ['in a fenced block', `\`\`\`sh\n${LINE}\n\`\`\``],
    ['in a fence that a shorter one does not close', `~~~~\n~~~\n${LINE}\n~~~~`],
    ['in a block that is never closed', `\`\`\`\n${LINE}`],
    ['in an HTML comment', `<!--\n${LINE}\n-->`],
    ['in an HTML comment that is never closed', `<!--\n${LINE}`],
    ['behind an HTML comment on its line', `<!-- x -->${LINE}`],
    ['in code', `\`${LINE}\``],
    ['with a name that is none', '/agent Fix! it'],
    ['without a name', '/agent'],
    ['as part of a longer word', '/agents fix'],
  ])('are not read %s', (_where, text) => {
    expect(commandOf(text)).toBeNull();
  });

  it('never throws and never finds one in a text whose every line is quoted', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        commandOf(text);
        const quoted = `${text}\n${LINE}`
          .split(/\r\n|\r|\n/)
          .map((line) => `> ${line}`)
          .join('\n');
        expect(commandOf(quoted)).toBeNull();
      }),
    );
  });
});
