// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to secrets are written so
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, resolveSecret } from '@headgate/config';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { policyOf, problemsOf } from './say.js';

let baseDir: string;
beforeEach(async () => {
  baseDir = await mkdtemp(join(tmpdir(), 'headgate-secrets-'));
});
afterEach(() => rm(baseDir, { recursive: true }));

describe('secrets', () => {
  it('come from a variable, or from the default beside it', async () => {
    const env = { SET: 'value', EMPTY: '' };
    expect(await resolveSecret('${SET}', { env, baseDir })).toEqual({ ok: true, value: 'value' });
    expect(await resolveSecret('${EMPTY:-default}', { env, baseDir })).toEqual({
      ok: true,
      value: 'default',
    });
    expect(await resolveSecret('${UNSET:-a:-b}', { env, baseDir })).toEqual({ ok: true, value: 'a:-b' });
    expect(await resolveSecret('${EMPTY}', { env, baseDir })).toEqual({
      ok: false,
      message: 'the variable EMPTY is not set',
      fix: 'Set EMPTY.',
    });
  });

  it('come from a file below the configuration, read again each time, without its last line break', async () => {
    const path = join(baseDir, 'secret');
    await writeFile(path, 'first\n');
    expect(await resolveSecret('file:secret', { env: {}, baseDir })).toEqual({ ok: true, value: 'first' });
    await writeFile(path, 'other\r\n');
    expect(await resolveSecret('file:secret', { env: {}, baseDir })).toEqual({ ok: true, value: 'other' });
    expect(await resolveSecret(`file:${path}`, { env: {}, baseDir: '/' })).toEqual({
      ok: true,
      value: 'other',
    });
  });

  it('that are missing, empty, a folder or not text are answers, not exceptions', async () => {
    await writeFile(join(baseDir, 'empty'), '\n');
    await writeFile(join(baseDir, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    await writeFile(join(baseDir, 'large'), 'x'.repeat(70_000));
    const messages = await Promise.all(
      ['file:none', 'file:empty', 'file:.', 'file:binary', 'file:large', 'plain'].map(async (reference) => {
        const secret = await resolveSecret(reference, { env: {}, baseDir });
        return secret.ok ? 'found' : secret.message.replaceAll(baseDir, '');
      }),
    );
    expect(messages).toEqual([
      'there is no file /none',
      'the file /empty is empty',
      ' is not a file',
      '/binary is not UTF-8 text',
      '/large has 70,000 bytes, more than 65,536',
      'not a reference to a secret',
    ]);
  });

  it('never stand in the policy, nor in what is said about the file', async () => {
    const text = (reference: string, url = 'local:x.git') =>
      `version: 1\nsources: { gh: { kind: github, webhookSecrets: [ "${reference}" ], repositories: { a/b: { url: "${url}" } } } }\n`;
    const env = { TOKEN: 'tops3cret' };
    expect(JSON.stringify(await policyOf(text('${TOKEN}'), { env }))).not.toContain('tops3cret');
    expect(await problemsOf(text('tops3cret'), { env })).not.toContain('tops3cret');
    expect(
      await problemsOf(text('${TOKEN}', 'https://me:tops3cret@example.com/a.git'), { env }),
    ).not.toContain('tops3cret');
  });

  it('of the example are refused once a real source exists, under whatever name', async () => {
    const text = `version: 1
budgets: { perDayUsd: 1 }
sources:
  example: { kind: github, webhookSecrets: [ "\${EXAMPLE:-example-webhook-secret}" ], repositories: { a/b: { url: local:x.git } } }
  real: { kind: github, webhookSecrets: [ "\${REAL}" ], repositories: { a/c: { url: "https://example.com/a/c.git" } } }
`;
    const refused = 'the secret is the example’s, which everybody knows, and there is a real source';
    expect(await problemsOf(text, { env: { REAL: 'own' } })).toContain(
      `sources.example.webhookSecrets[0]: ${refused}`,
    );
    expect(await problemsOf(text, { env: { REAL: 'example-webhook-secret', EXAMPLE: 'own' } })).toContain(
      `sources.real.webhookSecrets[0]: ${refused}`,
    );
    const signing = 'whsec_ZXhhbXBsZS13ZWJob29rLXNlY3JldA==';
    expect(await problemsOf(text, { env: { REAL: 'own', EXAMPLE: signing } })).toContain(
      `sources.example.webhookSecrets[0]: ${refused}`,
    );
    expect(await policyOf(text, { env: { REAL: 'own', EXAMPLE: 'own' } })).toMatchObject({
      sources: [{}, {}],
    });
  });

  it('that are not known yet are a warning: a file is also checked where its secrets are not', async () => {
    const result = await loadConfig({
      text: 'version: 1\nsources: { gh: { kind: github, webhookSecrets: [ "file:hook" ], repositories: { a/b: { url: local:x.git } } } }\n',
      baseDir,
      env: {},
    });
    expect(result.ok && result.warnings.map(({ path }) => path)).toContain('sources.gh.webhookSecrets[0]');
  });
});
