import { createHmac } from 'node:crypto';
import { createExampleRepository, shaOf } from '@headgate/runtimes';
import { describe, expect, it } from 'vitest';
import { exampleRepositoryPath } from '../src/example.js';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance, problem } from './instance.js';

const answer = (fields: object = {}) => ({
  receiptId: 'rcpt_1',
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  message: 'The work was admitted and a run was made.',
  runId: 'run_1',
  taskId: 'task_1',
  existing: false,
  retryAfter: null,
  ...fields,
});

async function exampleFolder(): Promise<{
  readonly dataDir: string;
  readonly path: string;
  readonly headSha: string;
}> {
  const dataDir = await temporaryFolder();
  const { path, headSha } = await createExampleRepository(exampleRepositoryPath(dataDir));
  return { dataDir, path, headSha };
}

describe('headgate send', () => {
  it('posts the sample rewritten to the example’s head, signed with the example’s secret', async () => {
    const { dataDir, headSha } = await exampleFolder();
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    const { code, out } = await headgate(['send', 'check_run.completed', '--delivery', 'd-1'], { dataDir });
    expect(code).toBe(0);
    expect(out).toContain('ADMITTED');
    const [request] = heard;
    expect(request).toMatchObject({ method: 'POST', url: '/webhooks/example-github' });
    expect(request?.headers).toMatchObject({ 'x-github-event': 'check_run', 'x-github-delivery': 'd-1' });
    const signature = createHmac('sha256', 'example-webhook-secret')
      .update(request?.body ?? '')
      .digest('hex');
    expect(request?.headers['x-hub-signature-256']).toBe(`sha256=${signature}`);
    const { check_run: check, repository } = JSON.parse(request?.body ?? '');
    expect(check).toMatchObject({ head_sha: headSha, conclusion: 'failure' });
    expect(repository).toMatchObject({ full_name: 'headgate/example' });
  });

  it('--print shows method, url, headers and body, and sends nothing', async () => {
    const { dataDir, headSha } = await exampleFolder();
    const { heard, url } = await fakeInstance(dataDir, () => ({ status: 500, body: {} }));
    const { code, out } = await headgate(['send', 'check_run.completed', '--print'], { dataDir });
    expect(code).toBe(0);
    expect(heard).toEqual([]);
    expect(out).toContain(`POST ${url}/webhooks/example-github\n`);
    expect(out).toMatch(/^x-hub-signature-256: sha256=[0-9a-f]{64}$/m);
    expect(out).toContain(headSha);
  });

  it('--count sends one delivery id so often, at once, and counts answers that say the same', async () => {
    const { dataDir } = await exampleFolder();
    let answered = 0;
    const { heard } = await fakeInstance(dataDir, () => {
      answered += 1;
      const isFirst = answered === 1;
      return {
        status: 202,
        body: isFirst
          ? answer()
          : answer({ outcome: 'reject', reasonCode: 'DUPLICATE_DELIVERY', existing: true }),
      };
    });
    const { out } = await headgate(['send', '--count', '20'], { dataDir });
    expect(heard).toHaveLength(20);
    expect(new Set(heard.map(({ headers }) => headers['x-github-delivery'])).size).toBe(1);
    expect(out).toMatch(/ 1 × .*ADMITTED/);
    expect(out).toMatch(/19 × .*DUPLICATE_DELIVERY/);
  });

  it('--json is one document: sample, delivery, status, every answer, and no run without --wait', async () => {
    const { dataDir } = await exampleFolder();
    await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    const { out } = await headgate(['send', '--json', '--count', '2', '--delivery', 'd-2'], { dataDir });
    expect(JSON.parse(out)).toEqual({
      sample: 'check_run.completed#0',
      deliveryId: 'd-2',
      httpStatus: 202,
      answers: [answer(), answer()],
      run: null,
    });
  });

  it('says plainly that a commit had its run, and how to get new work', async () => {
    const { dataDir } = await exampleFolder();
    const body = answer({ outcome: 'reject', reasonCode: 'DUPLICATE_WORK', existing: true });
    await fakeInstance(dataDir, () => ({ status: 202, body }));
    const { code, out } = await headgate(['send'], { dataDir });
    expect(code).toBe(0);
    expect(out).toContain('DUPLICATE_WORK');
    expect(out).toContain('run_1');
    expect(out).toContain('headgate send --fresh');
  });

  it('--fresh commits a new change first, and the delivery is about that commit', async () => {
    const { dataDir, path, headSha } = await exampleFolder();
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    await headgate(['send', '--fresh'], { dataDir });
    const moved = await shaOf(path, 'main');
    expect(moved).not.toBe(headSha);
    expect(JSON.parse(heard[0]?.body ?? '').check_run.head_sha).toBe(moved);
  });

  it('ends with 5 when the signature is refused, 1 for any other refusal, with the problem’s words', async () => {
    for (const [status, expected] of [
      [401, 5],
      [404, 1],
      [503, 1],
    ] as const) {
      const { dataDir } = await exampleFolder();
      await fakeInstance(dataDir, () => problem(status, 'SOME_CODE', 'What to do.'));
      const { code, out } = await headgate(['send'], { dataDir });
      expect(code).toBe(expected);
      expect(out).toContain('What to do.');
    }
  });

  it('sends a CloudEvent with the instance’s token, and a message of Standard Webhooks signed with the example’s secret', async () => {
    const { dataDir, headSha } = await exampleFolder();
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    const event = await headgate(
      [
        'send',
        'cloudevents.com.example.build.failed',
        '--delivery',
        'e-1',
        '--data',
        '{"severity":"low"}',
        '--json',
      ],
      { dataDir },
    );
    expect(event.code).toBe(0);
    expect(JSON.parse(event.out)).toMatchObject({
      sample: 'cloudevents.com.example.build.failed#0',
      deliveryId: 'e-1',
    });
    expect(heard[0]).toMatchObject({ url: '/v1/events', authorization: 'Bearer hg_folder-token' });
    expect(JSON.parse(heard[0]?.body ?? '')).toMatchObject({
      id: 'e-1',
      source: 'https://ci.example.com/nightly',
      data: { repository: 'headgate/example', commit: headSha, severity: 'low' },
    });
    expect((await headgate(['send', 'webhook.deploy.failed', '--delivery', 'm-1'], { dataDir })).code).toBe(
      0,
    );
    expect(heard[1]).toMatchObject({ url: '/webhooks/example-webhooks', authorization: undefined });
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signature,
    } = heard[1]?.headers ?? {};
    const expected = createHmac('sha256', 'example-webhook-secret')
      .update(`${id}.${at}.${heard[1]?.body}`)
      .digest('base64');
    expect([id, signature]).toEqual(['m-1', `v1,${expected}`]);
  });

  it.each([
    [['send', 'webhook.a', '--data', '[1]'], 'Write a JSON object'],
    [['send', 'push', '--data', '{}'], '--data is for cloudevents'],
    [['send', 'cloudevents'], 'Name its type'],
  ] as const)('%j is a mistake that is told before anything is sent', async (words, told) => {
    const { dataDir } = await exampleFolder();
    const { heard } = await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    expect(await headgate(words, { dataDir })).toMatchObject({
      code: 2,
      note: expect.stringContaining(told),
    });
    expect(heard).toEqual([]);
  });

  it('names the nearest samples for one that does not exist', async () => {
    const { dataDir } = await exampleFolder();
    await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
    const { code, note } = await headgate(['send', 'check_rum.completed'], { dataDir });
    expect(code).toBe(2);
    expect(note).toContain('check_run.completed');
  });

  it.each(['--upload-pack=x', 'a..b', 'a b', '*'])(
    'refuses the branch name %j before git sees it',
    async (name) => {
      const { dataDir } = await exampleFolder();
      await fakeInstance(dataDir, () => ({ status: 202, body: answer() }));
      expect(await headgate(['send', `--branch=${name}`], { dataDir })).toMatchObject({ code: 2 });
    },
  );
});
