import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId } from '@headgate/domain';
import type { Artifact, Page } from '@headgate/sdk';
import { artifacts } from '@headgate/store';
import { claimRun, seedRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';

async function aRunWithArtifacts() {
  const test = await aConsole();
  const run = await seedRun(test.store, { tenant: test.tenant });
  const lease = await claimRun(test.store, run);
  const id = formatId('run', run.runId);
  const root = test.context.paths.artifacts;
  await mkdir(join(root, id, '1'), { recursive: true });
  await mkdir(join(root, id, '2'), { recursive: true });
  const keep = async (
    attemptNo: number,
    name: string,
    content: string | null,
    change: { path?: string; mediaType?: string } = {},
  ) => {
    const path = change.path ?? join(id, String(attemptNo), name);
    if (content !== null) await writeFile(join(root, path), content);
    await test.store.service.use((c) =>
      artifacts.insert(c, { fence: lease.fence, tenantId: test.tenant.id, attemptNo }, [
        {
          name,
          path,
          bytes: content?.length ?? 0,
          sha256: Buffer.alloc(32, attemptNo),
          mediaType: change.mediaType ?? 'text/plain',
        },
      ]),
    );
  };
  return { test, id, root, keep };
}

describe('artifacts', () => {
  it('Q9: are listed by attempt, and the newest attempt’s content is answered unless another is asked for', async () => {
    const { test, id, keep } = await aRunWithArtifacts();
    await keep(1, 'agent.log', 'first');
    await keep(2, 'agent.log', 'second ✓');
    await keep(2, 'empty.log', '');
    const { items } = await test.json<Page<Artifact>>(`/v1/runs/${id}/artifacts`);
    expect(items.map((one) => [one.attempt, one.name])).toEqual([
      [1, 'agent.log'],
      [2, 'agent.log'],
      [2, 'empty.log'],
    ]);
    expect(items[0]).toMatchObject({ runId: id, bytes: 5, sha256: '01'.repeat(32), mediaType: 'text/plain' });
    expect(await (await test.ask(`/v1/runs/${id}/artifacts/agent.log`)).text()).toBe('second ✓');
    expect(await (await test.ask(`/v1/runs/${id}/artifacts/agent.log?attempt=1`)).text()).toBe('first');
    expect(await (await test.ask(items[0]?.url ?? '')).text()).toBe('first');
    expect(await (await test.ask(`/v1/runs/${id}/artifacts/empty.log`)).text()).toBe('');
    expect((await test.ask(`/v1/runs/${id}/artifacts/agent.log?attempt=9`)).status).toBe(404);
    expect((await test.ask(`/v1/runs/${id}/artifacts/agent.log?attempt=x`)).status).toBe(400);
    expect((await test.ask('/v1/runs/run_00000000000000000000000000/artifacts')).status).toBe(404);
  });

  it('are a download of a plain type that no page may run', async () => {
    const { test, id, keep } = await aRunWithArtifacts();
    await keep(1, `rep'ort".html`, '<script>alert(1)</script>', { mediaType: 'text/html' });
    await keep(1, 'picture.svg', '<svg onload="alert(1)"/>', { mediaType: 'image/svg+xml' });
    const html = await test.ask(`/v1/runs/${id}/artifacts/${encodeURIComponent(`rep'ort".html`)}`);
    expect(html.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(html.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''rep%27ort%22.html");
    expect(html.headers.get('content-security-policy')).toContain('sandbox');
    expect(html.headers.get('x-content-type-options')).toBe('nosniff');
    const svg = await test.ask(`/v1/runs/${id}/artifacts/picture.svg`);
    expect(svg.headers.get('content-type')).toBe('application/octet-stream');
  });

  it('never lead out of the artifacts folder, whatever the request, the row or a link says', async () => {
    const { test, id, root, keep } = await aRunWithArtifacts();
    await writeFile(join(test.dataDir, 'admin-token'), 'hg_secret');
    await symlink(join(test.dataDir, 'admin-token'), join(root, id, '1', 'link.log'));
    await keep(1, 'escape.log', null, { path: '../admin-token' });
    await keep(1, 'absolute.log', null, { path: join(test.dataDir, 'admin-token') });
    await keep(1, 'link.log', null);
    await keep(1, 'folder', null, { path: id });
    await keep(1, 'gone.log', null);
    const names = [
      'escape.log',
      'absolute.log',
      'link.log',
      'folder',
      'gone.log',
      '../../admin-token',
      '..%2f..%2fadmin-token',
    ];
    for (const name of names) {
      const response = await test.ask(
        `/v1/runs/${id}/artifacts/${name.includes('%') ? name : encodeURIComponent(name)}`,
      );
      expect(response.status, name).toBe(404);
      expect(await response.text(), name).not.toContain('hg_secret');
    }
  });

  it('answers one range of bytes, so that a large one need not be read whole', async () => {
    const { test, id, keep } = await aRunWithArtifacts();
    await keep(1, 'agent.log', '0123456789');
    const ask = (range: string) => test.ask(`/v1/runs/${id}/artifacts/agent.log`, { headers: { range } });
    for (const [range, text, place] of [
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-2', '89', 'bytes 8-9/10'],
      ['bytes=8-99', '89', 'bytes 8-9/10'],
    ] as const) {
      const response = await ask(range);
      expect(response.status, range).toBe(206);
      expect(response.headers.get('content-range'), range).toBe(place);
      expect(await response.text(), range).toBe(text);
    }
    const outside = await ask('bytes=10-');
    expect(outside.status).toBe(416);
    expect(outside.headers.get('content-range')).toBe('bytes */10');
    for (const range of ['lines=1-2', 'bytes=1-2,4-5', 'bytes=-']) {
      const whole = await ask(range);
      expect(whole.status, range).toBe(200);
      expect(await whole.text(), range).toBe('0123456789');
    }
  });
});
