import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Capabilities, match, missingInWords } from '../src/index.js';

const ok = (required: Capabilities, offered: Capabilities) => match(required, offered).ok;

describe('Q20: version ranges', () => {
  it.each([
    ['>=21', '21', true],
    ['>=21', '21.0.2', true],
    ['>=21', 'v22.1.0', true],
    ['>=21', '17.0.9', false],
    ['20.x', '20.19.4', true],
    ['20', '20.11.1', true],
    ['^1.2', '2.0.0', false],
    ['>=3.11', '3.9', false],
    ['>=3.11', '3.12', true],
    ['>=21 <23 || 25', '25.0.1', true],
    ['>=21', '22.0.0-rc.1', true],
    ['>=2', 'node20', false],
    ['>=2', 'latest', false],
  ])('Q20: %s against %s is %s', (range, version, expected) => {
    expect(ok({ jdk: range }, { jdk: version })).toBe(expected);
  });

  it('Q20: one version of several is enough, and a number reads as a version', () => {
    expect(ok({ jdk: '>=21' }, { jdk: ['17.0.1', '21.0.2'] })).toBe(true);
    expect(ok({ jdk: '>=21' }, { jdk: ['8', '17'] })).toBe(false);
    expect(ok({ jdk: '>=21' }, { jdk: 21 })).toBe(true);
  });
});

it('Q20: lists are contained, numbers reached, flags equal', () => {
  expect(ok({ tools: ['git', 'npm'] }, { tools: ['npm', 'git', 'jq'] })).toBe(true);
  expect(ok({ tools: ['git', 'cargo'] }, { tools: ['git'] })).toBe(false);
  expect(ok({ tools: ['git'] }, { tools: 'git' })).toBe(true);
  expect(ok({ workspaceGb: 20 }, { workspaceGb: 20 })).toBe(true);
  expect(ok({ workspaceGb: 20 }, { workspaceGb: 19.9 })).toBe(false);
  expect(ok({ workspaceGb: 20 }, { workspaceGb: '40' })).toBe(false);
  expect(ok({ network: true }, { network: true })).toBe(true);
  expect(ok({ network: true }, {})).toBe(false);
  expect(ok({ network: false }, {})).toBe(true);
  expect(ok({ network: false }, { network: true })).toBe(false);
});

it('Q20: any other string is compared as it is; * means anything at all', () => {
  expect(ok({ arch: 'arm64' }, { arch: 'arm64' })).toBe(true);
  expect(ok({ arch: 'arm64' }, { arch: 'x64' })).toBe(false);
  expect(ok({ runtime: 'claude' }, { runtime: ['command', 'claude'] })).toBe(true);
  expect(ok({ gpu: '*' }, { gpu: 'a100' })).toBe(true);
  expect(ok({ gpu: '*' }, { gpu: false })).toBe(false);
  expect(ok({ gpu: '*' }, {})).toBe(false);
});

it('Q20: names that every object carries are not offered by accident', () => {
  expect(ok({ constructor: '*', toString: true }, {})).toBe(false);
});

it('Q20: everything that is missing is named at once, with what is offered instead', () => {
  const result = match({ node: '>=20', network: true, tools: ['git'] }, { node: '18.19.0', tools: ['git'] });
  expect(result).toEqual({
    ok: false,
    missing: [
      { name: 'network', required: true, offered: null },
      { name: 'node', required: '>=20', offered: '18.19.0' },
    ],
  });
  if (!result.ok) {
    expect(missingInWords(result.missing)).toBe('network (not offered), node >=20 (offered: 18.19.0)');
  }
});

describe('Q20: required is a part of offered', () => {
  const value = fc.oneof(
    fc.constantFrom('git', 'claude', '21.0.2', 'arm64'),
    fc.integer({ min: 0, max: 64 }),
    fc.boolean(),
    fc.subarray(['git', 'npm', 'jq'], { minLength: 1 }),
  );
  const capabilities = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), value);

  it('Q20: whatever is offered satisfies itself', () => {
    fc.assert(
      fc.property(capabilities, (offered) => {
        expect(match(offered, offered)).toEqual({ ok: true });
      }),
    );
  });

  it('Q20: requiring less never makes a match fail', () => {
    fc.assert(
      fc.property(
        capabilities,
        capabilities,
        fc.constantFrom('a', 'b', 'c', 'd'),
        (required, offered, name) => {
          if (!match(required, offered).ok) return;
          const { [name]: _left, ...fewer } = required;
          expect(match(fewer, offered).ok).toBe(true);
        },
      ),
    );
  });

  it('Q20: what is missing is exactly what fails alone', () => {
    fc.assert(
      fc.property(capabilities, capabilities, (required, offered) => {
        const result = match(required, offered);
        const missing = result.ok ? [] : result.missing.map((one) => one.name);
        const failing = Object.entries(required)
          .filter(([name, need]) => !match({ [name]: need }, offered).ok)
          .map(([name]) => name);
        expect(missing).toEqual(failing.sort());
      }),
    );
  });
});
