import { describe, expect, it } from 'vitest';
import { forgePlace } from '../src/send/forge-url.js';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance } from './instance.js';

const SHA = '9f31c2aa00112233445566778899aabbccddeeff';
const at = (path: string) => forgePlace(`https://github.com/acme/api${path}`);

describe('headgate try', () => {
  it('I2: reads a pull request, one of its commits, an issue, a commit and a branch from their URLs', () => {
    const repository = 'acme/api';
    expect(at('/pull/7/files#diff-1')).toEqual({ repository, target: { kind: 'pull_request', id: '7' } });
    expect(at(`/pull/7/commits/${SHA}`)).toMatchObject({ inputVersion: SHA });
    expect(at('/issues/3')).toEqual({ repository, target: { kind: 'issue', id: '3' } });
    expect(at(`/commit/${SHA}`)).toEqual({ repository, inputVersion: SHA });
    expect(at('/tree/feature/x%20y')).toEqual({ repository, target: { kind: 'branch', id: 'feature/x y' } });
    expect(forgePlace(`https://ghe.example.com/acme/api.git/issues/3`)).toMatchObject({ repository });
  });

  it.each([
    'acme/api#7',
    'ftp://github.com/a/b/pull/1',
    'https://github.com/acme',
    'https://github.com/a/b/pull/x',
  ])('refuses %s with what to give', async (text) => {
    expect(forgePlace(text)).toBeNull();
    const { code, note } = await headgate(['try', text], { dataDir: await temporaryFolder() });
    expect(code).toBe(2);
    expect(note).toContain('URL of a pull request');
  });

  it('asks for that work, of the route that is named or the only one there is', async () => {
    const dataDir = await temporaryFolder();
    const body = {
      receiptId: 'rcpt_01k',
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      message: 'm',
      runId: 'run_01k',
      taskId: 'task_01k',
      existing: false,
      retryAfter: null,
    };
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body }));
    const url = 'https://github.com/acme/api/pull/7';
    await headgate(['try', url], { dataDir });
    await headgate(['try', url, '--route', 'fix', '--reason', 'asked'], { dataDir });
    const bodies = heard.map((request) => JSON.parse(request.body) as unknown);
    expect(heard[0]).toMatchObject({ method: 'POST', url: '/v1/work' });
    expect(bodies).toMatchObject([
      { repository: 'acme/api', target: { id: '7' } },
      { route: 'fix', reason: 'asked' },
    ]);
    expect(bodies[0]).not.toHaveProperty('route');
  });
});
