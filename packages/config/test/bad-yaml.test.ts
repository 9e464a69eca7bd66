import { describe, expect, it } from 'vitest';
import { problemsOf, withRoute } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'an empty file',
    text: '',
    says: ['1:1 the file is empty. Begin it with version: 1.'],
  },
  {
    name: 'a file of comments',
    text: '# nothing\n',
    says: ['1:1 the file is empty. Begin it with version: 1.'],
  },
  {
    name: 'a list',
    text: '- a\n',
    says: ['1:1 is a list. Write a map of keys.'],
  },
  {
    name: 'a tab',
    text: 'version: 1\nroutes:\n\ttidy: {}\n',
    says: ['3:1 the line is indented with a tab. Use spaces: YAML allows no tabs there.'],
  },
  {
    name: 'a key written twice',
    text: 'version: 1\nroutes: {}\nroutes: {}\n',
    says: ['3:1 "routes" is written twice (first on line 2). Keep one of the two.'],
  },
  {
    name: 'a key written twice far inside',
    text: 'version: 1\nagents:\n  a: { runtime: command, command: [x], runtime: command }\n',
    says: ['3:40 "runtime" is written twice (first on line 3). Keep one of the two.'],
  },
  {
    name: 'an alias bomb',
    text: 'version: 1\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n',
    says: [
      'aliases stand for more than 100 values. Write the values out: a file that grows when it is read is refused.',
    ],
  },
  {
    name: 'an alias without its anchor',
    text: 'version: 1\nroutes: *nope\n',
    says: ['the alias *nope names no anchor above it. Write the value out.'],
  },
  {
    name: 'a NUL byte',
    text: 'version: 1\nrou\u0000tes: {}\n',
    says: ['2:4 there is a control character (U+0000). Remove it: the file is plain text.'],
  },
  {
    name: 'an escaped NUL',
    text: withRoute('prompt: "a\\0b"'),
    says: ['9:13 the text holds a NUL character. Remove it.'],
  },
  {
    name: 'two documents',
    text: 'version: 1\n---\nversion: 1\n',
    says: ['2:1 a second document starts here (---). Keep one document in the file.'],
  },
  {
    name: 'a %YAML directive',
    text: '%YAML 1.1\n---\nversion: 1\n',
    says: ['1:1 a %YAML line changes how words such as "on" are read. Remove it: the file is YAML 1.2.'],
  },
  {
    name: 'a tag',
    text: 'version: !x 1\n',
    says: ['1:10 tags (words with !) have no meaning here. Remove the tag.'],
  },
  {
    name: 'a colon in plain text',
    text: withRoute('prompt: a: b'),
    says: [
      '9:13 there is a second ": " in this line. Put the value in quotes, or the nested key on a line of its own.',
    ],
  },
  {
    name: 'an open bracket',
    text: 'version: 1\nroutes: { a: [\n',
    says: ['3:1 a bracket is not closed, or a line is not indented enough. Close it, or indent.'],
  },
  {
    name: 'a list as a key',
    text: 'version: 1\n? [a]\n: 1\n',
    says: ['2:3 a key is a list or a map. Write a word as the key.'],
  },
  {
    name: 'deep brackets',
    text: `a: ${'['.repeat(200_000)}`,
    says: ['1:68 the file is nested more than 64 levels deep. A configuration needs about eight.'],
  },
  {
    name: 'deep dashes',
    text: '- '.repeat(100_000),
    says: ['1:129 the file is nested more than 64 levels deep. A configuration needs about eight.'],
  },
  {
    name: 'deep indentation',
    text: Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    says: ['202:1 the file is nested more than 64 levels deep. A configuration needs about eight.'],
  },
  {
    name: 'more than a megabyte',
    text: `version: 1\n#${'x'.repeat(1024 * 1024)}`,
    says: [
      'the file has 1,048,588 bytes, more than 1 MiB. Split the routes over several instances, or move prompts into files.',
    ],
  },
  {
    name: 'half a million marks',
    text: `a: [${'1,'.repeat(300_000)}]`,
    says: ['the file has more than 400,000 words and marks. Shorten it.'],
  },
];

describe('a file that is not sound YAML', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
