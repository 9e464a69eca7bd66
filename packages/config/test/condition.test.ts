import {
  compileCondition,
  conditionEvaluator,
  type ExpressionContext,
  expressionContext,
} from '@headgate/config';
import type { Signal } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const NO_COMMAND = { name: '', argument: '' };

const CONTEXT: ExpressionContext = {
  command: NO_COMMAND,
  event: {
    action: 'completed',
    number: 7,
    draft: false,
    check_run: { conclusion: 'failure', name: 'unit (node 20)', id: 128_620_228, app: null },
    labels: [{ name: 'bug' }, { name: 'agent:go' }],
  },
  repository: { id: '42', name: 'api', owner: 'acme', fullName: 'acme/api', defaultBranch: 'main' },
  target: { kind: 'branch', id: 'main', ref: 'main', aspect: null },
};

const judge = (source: string, context: ExpressionContext = CONTEXT) => {
  const compiled = compileCondition(source);
  return compiled.ok ? compiled.evaluate(context) : { refused: compiled.problem.message };
};

describe('conditions', () => {
  it.each([
    ['event.check_run.conclusion == "failure"', true],
    ["event.check_run.conclusion == 'failure'", true],
    ['event.check_run.conclusion != "failure"', false],
    ['event.number == 7', true],
    ['event.number + 1 == 8 && event.number % 2 == 1', true],
    ['event.number >= 7 && event.number < 7.5', true],
    ['event.check_run.id > 128620227', true],
    ['!(event.draft || event.action == "created")', true],
    ['event.check_run.conclusion in ["failure", "timed_out"]', true],
    ['has(event.check_run.name) && !has(event.check_run.output)', true],
    ['event.check_run.app == null', true],
    ['event.check_run.name.startsWith("unit") && event.check_run.name.endsWith(")")', true],
    ['event.check_run.name.contains("node")', true],
    ['event.labels.exists(label, label.name == "agent:go")', true],
    ['event.labels.all(label, label.name == "bug")', false],
    ['size(event.labels.filter(label, label.name.startsWith("agent:"))) == 1', true],
    ['event["action"] == "completed"', true],
    ['event.labels[0].name == "bug"', true],
    ['event.action == "completed" ? event.number > 1 : false', true],
    ['repository.fullName == "acme/api" && repository.owner == "acme" && repository.id == "42"', true],
    ['target.kind == "branch" && target.ref == repository.defaultBranch && target.aspect == null', true],
  ])('%s is %s', (source, value) => {
    expect(judge(source)).toEqual({ value });
  });

  it.each([
    ['event.check_run.output.title == "x"', 'there is no event.check_run.output'],
    ['event.issue.number == 1', 'there is no event.issue'],
    ['event.action > 1', 'no such overload: dyn<string> > int (at character 1)'],
    ['event.action', 'the condition gave neither true nor false'],
    ['event.labels[9].name == "x"', 'index out of bounds, index 9 >= size 2 (at character 1)'],
    ['event.constructor.name == "Object"', 'there is no event.constructor'],
    ['event.__proto__ == null', 'there is no event.__proto__'],
    ['event.toString() == "x"', 'refused'],
  ])('I7: %s is an error, not a no that was meant', (source, error) => {
    const result = judge(source);
    if (error === 'refused') expect(result).toHaveProperty('refused');
    else expect(result).toEqual({ error });
  });

  it('an unknown field does not matter where the rest decides', () => {
    expect(judge('event.nope == 1 || event.number == 7')).toEqual({ value: true });
    expect(judge('event.nope == 1 && event.number == 8')).toEqual({ value: false });
  });

  it('a signal without a payload, repository or target is an error, never an exception', () => {
    for (const event of [null, undefined, 5, 'text', [], Object.create(null)]) {
      const result = judge('event.action == "completed"', {
        event,
        repository: null,
        target: null,
        command: NO_COMMAND,
      });
      expect(result).toHaveProperty('error');
    }
    expect(
      judge('repository.id == "1"', { event: {}, repository: null, target: null, command: NO_COMMAND }),
    ).toHaveProperty('error');
  });

  it('never throws, whatever the expression and the payload', () => {
    const part = fc.constantFrom(
      ...[
        'event',
        'event.a',
        'event.l',
        'repository.id',
        'target',
        '1',
        '1.5',
        '"x"',
        'true',
        'null',
        '[1]',
        '{"a": 1}',
      ],
    );
    const operator = fc.constantFrom(
      ...['==', '!=', '<', '>=', '&&', '||', '+', '-', '*', '/', '%', 'in', '?', '.'],
    );
    const expression = fc
      .tuple(part, operator, part, operator, part)
      .map(([a, first, b, second, c]) => `${a} ${first} ${b} ${second} ${c}`);
    fc.assert(
      fc.property(fc.oneof(expression, fc.string()), fc.jsonValue(), (source, event) => {
        const result = judge(source, { ...CONTEXT, event });
        expect(Object.keys(result)).toHaveLength(1);
      }),
      { numRuns: 1000 },
    );
  });

  it('a walk over a list is refused when the payload is too large for it', () => {
    const list = Array.from({ length: 100_000 }, (_, n) => ({ name: `label ${n}` }));
    expect(
      judge('event.labels.all(label, label.name.startsWith("l"))', { ...CONTEXT, event: { labels: list } }),
    ).toEqual({
      error: 'the payload is too large to walk its lists',
    });
    expect(judge('event.action == "x"', { ...CONTEXT, event: { action: 'x', labels: list } })).toEqual({
      value: true,
    });
  });

  it('tells which fields it reads', () => {
    const compiled = compileCondition('event.a.b == 1 && event.l.exists(x, x.name == repository.id)');
    if (!compiled.ok) throw new Error(compiled.problem.message);
    expect([...compiled.reads].sort()).toEqual([
      'event',
      'event.a',
      'event.a.b',
      'event.l',
      'repository',
      'repository.id',
    ]);
  });
});

const signal = (changes: Partial<Signal>): Signal => ({
  source: 'github',
  eventId: '1',
  type: 'github.check_run.completed',
  trigger: 'event',
  via: 'webhook',
  hookId: null,
  subject: null,
  emittedAt: null,
  receivedAt: new Date(0),
  actor: null,
  repository: { externalId: '42', fullName: 'acme/group/api', defaultBranch: null },
  target: { kind: 'branch', id: 'main', ref: 'main', aspect: 'unit' },
  inputVersion: null,
  sourceAt: null,
  parentVersions: [],
  data: { action: 'completed' },
  traceparent: null,
  ...changes,
});

describe('the evaluator that routing asks', () => {
  const evaluate = conditionEvaluator();
  const never = { source: 'event.action == "never"' };

  it('asks the condition of an event', () => {
    expect(evaluate(never, signal({}))).toEqual({ value: false });
    expect(evaluate({ source: 'event.action == "completed"' }, signal({}))).toEqual({ value: true });
  });

  it('I1: lets a schedule and a person pass, who have no event to filter', () => {
    expect(evaluate(never, signal({ trigger: 'schedule', data: null }))).toEqual({ value: true });
    expect(evaluate(never, signal({ trigger: 'manual', data: { route: 'x' } }))).toEqual({ value: true });
  });

  it('Q7: a condition of an older policy version that no longer compiles is an error', () => {
    expect(evaluate({ source: 'event.title.matches("a")' }, signal({}))).toHaveProperty('error');
  });

  it('gives expressions the repository and the target in plain words', () => {
    expect(expressionContext(signal({}))).toEqual({
      event: { action: 'completed' },
      repository: {
        id: '42',
        name: 'api',
        owner: 'acme/group',
        fullName: 'acme/group/api',
        defaultBranch: null,
      },
      target: { kind: 'branch', id: 'main', ref: 'main', aspect: 'unit' },
      command: { name: '', argument: '' },
    });
    expect(expressionContext(signal({ repository: null, target: null, data: undefined }))).toEqual({
      event: null,
      repository: null,
      target: null,
      command: { name: '', argument: '' },
    });
    const asked = signal({ command: { name: 'fix', argument: 'the tests' } });
    expect(expressionContext(asked).command).toEqual({ name: 'fix', argument: 'the tests' });
  });
});
