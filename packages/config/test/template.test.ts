import { compileTemplate, type ExpressionContext } from '@headgate/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const CONTEXT: ExpressionContext = {
  command: { name: '', argument: '' },
  event: {
    pull_request: { number: 7, draft: false },
    title: '}} {{ event.title }}',
    labels: ['a'],
    nothing: null,
  },
  repository: { id: '42', name: 'api', owner: 'acme', fullName: 'acme/api', defaultBranch: 'main' },
  target: null,
};

const render = (source: string) => {
  const compiled = compileTemplate(source);
  return compiled.ok ? compiled.render(CONTEXT) : { refused: compiled.problem.message };
};

describe('templates', () => {
  it.each([
    ['plain text', 'plain text'],
    ['', ''],
    ['{{ repository.id }}/pr/{{ event.pull_request.number }}', '42/pr/7'],
    ['{{repository.id}}', '42'],
    ['{{ event.pull_request.draft ? "draft" : "ready" }}', 'ready'],
    ['{{ "}}" + repository.name }}', '}}api'],
    ['{{ {"a": {"b": "c"}}["a"]["b"] }}!', 'c!'],
    ["{{ 'it\\'s }}' }}", "it's }}"],
    ['a:b *🌊 {{ repository.id }}', 'a:b *🌊 42'],
    ['{{ event.pull_request.number + 1 }}', '8'],
  ])('I4: %s gives %s', (source, value) => {
    expect(render(source)).toEqual({ value });
  });

  it.each([
    ['{{ event.issue.number }}', 'there is no event.issue'],
    ['{{ event.nothing }}', 'an expression in the template gave null'],
    ['{{ event.labels }}', 'an expression in the template gave a list or an object'],
    ['{{ target.id }}', 'there is no target.id'],
  ])('I4: %s is an error, so that no two pieces of work share a key by chance', (source, error) => {
    expect(render(source)).toEqual({ error });
  });

  it.each([
    ['{{ repository.id', 'a "{{" is not closed'],
    ['repository.id }}', 'a "}}" has no "{{" before it'],
    ['{{ }}', 'the expression is empty'],
    ['{{ event.a = 1 }}', 'the expression has a single "="'],
  ])('%s is refused when the file is read', (source, refused) => {
    expect(render(source)).toEqual({ refused });
  });

  it('what a payload holds is never read as a template', () => {
    expect(render('{{ event.title }}')).toEqual({ value: '}} {{ event.title }}' });
  });

  it('never throws, and text without braces stays as it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{{', '}}', '{', '}', '"', "'", '\\', 'event', '.a', ' ', 'x'), {
          maxLength: 12,
        }),
        (parts) => {
          const text = parts.join('');
          const result = render(text);
          expect(Object.keys(result)).toHaveLength(1);
          if (!text.includes('{{') && !text.includes('}}')) expect(result).toEqual({ value: text });
        },
      ),
    );
  });
});
