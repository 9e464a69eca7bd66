import { describe, expect, it } from 'vitest';
import { problemsOf, withRoute } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'a single =',
    text: withRoute('when: event.action = "opened"'),
    says: ['9:5 routes.tidy.when: the expression has a single "=". Write == to compare.'],
  },
  {
    name: 'a payload field without event',
    text: withRoute('when: conclusion == "failure"'),
    says: [
      '9:5 routes.tidy.when: the expression reads "conclusion", which is not there. It may read event, repository, target, command. Payload fields stand below event: event.conclusion.',
    ],
  },
  {
    name: 'matches()',
    text: withRoute('when: event.title.matches("a")'),
    says: [
      '9:5 routes.tidy.when: matches() is not supported: a regular expression can run for ever. Use startsWith, endsWith or contains.',
    ],
  },
  {
    name: 'a misspelt field',
    text: withRoute('when: repository.nmae == "api"'),
    says: ['9:5 routes.tidy.when: repository has no field "nmae". Did you mean "name"?'],
  },
  {
    name: 'an unknown field of the target',
    text: withRoute('when: target.number == 1'),
    says: ['9:5 routes.tidy.when: target has no field "number". Use one of: kind, id, ref, aspect.'],
  },
  {
    name: 'half an expression',
    text: withRoute('when: event.action =='),
    says: [
      '9:5 routes.tidy.when: the expression is not valid CEL: Unexpected token: EOF (at character 16). Correct it.',
    ],
  },
  {
    name: 'a number',
    text: withRoute('when: size(event.labels)'),
    says: [
      '9:5 routes.tidy.when: the condition gives a number, not true or false. Compare it with something: event.action == "opened".',
    ],
  },
  {
    name: 'a constant number',
    text: withRoute('when: 1'),
    says: ['9:5 routes.tidy.when: is the number 1. Write a text.'],
  },
  {
    name: 'a walk in a walk',
    text: withRoute('when: event.a.all(x, event.b.all(y, y == x))'),
    says: ['9:5 routes.tidy.when: all() stands inside another walk over a list. Walk one list at a time.'],
  },
  {
    name: 'bind()',
    text: withRoute('when: cel.bind(a, 1, a == 1)'),
    says: ['9:5 routes.tidy.when: there is no function bind(). Did you mean "int"?'],
  },
  {
    name: 'text where true or false belongs',
    text: withRoute('when: true && "x"'),
    says: [
      "9:5 routes.tidy.when: the expression is not valid CEL: Logical operator requires bool operands, got 'string' (at character 1). Correct it.",
    ],
  },
  {
    name: 'too long an expression',
    text: withRoute(`when: ${'event.a == 1 || '.repeat(200)}true`),
    says: ['9:5 routes.tidy.when: the text has more than 2,000 characters. Shorten it.'],
  },
  {
    name: 'too many parts',
    text: withRoute(`when: ${'event.a || '.repeat(150)}true`),
    says: ['9:5 routes.tidy.when: the expression has too many parts. Split the route, or shorten it.'],
  },
  {
    name: 'a work key without the repository',
    text: withRoute('repositories: [notes]', 'work: { key: "fix/{{ event.number }}" }'),
    says: [
      '10:13 routes.tidy.work.key: the work key does not hold the repository’s id, so two repositories would share their work. Begin it with {{ repository.id }}/.',
    ],
  },
  {
    name: 'templates with open braces',
    text: withRoute('work: { key: "{{ repository.id" }', 'concurrency: { key: "a}}" }'),
    says: [
      '9:13 routes.tidy.work.key: a "{{" is not closed. Close it with "}}".',
      '10:20 routes.tidy.concurrency.key: a "}}" has no "{{" before it. Open it, or remove it.',
    ],
  },
];

describe('a route with a wrong expression', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
