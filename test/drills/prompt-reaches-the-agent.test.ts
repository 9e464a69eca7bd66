/** From a signed webhook to the agent's input folder: what is counted is what is told. */
import { createHash } from 'node:crypto';
import { anAgent, startCluster } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

/** Hands in what it was told, as its result. */
const REPEATER = anAgent({
  id: 'quick',
  command: [
    '/bin/sh',
    '-c',
    'mkdir -p results && cp "$(dirname "$HEADGATE_INPUT")/prompt.md" results/told.md',
  ],
});

test(
  'the prompt is filled with what the delivery brought, kept with its digest, and told to the agent to the byte',
  async () => {
    const cluster = await startCluster({
      layout: 'one',
      services: { worker: 1, console: 1 },
      route: { prompt: 'Fix check {{ event.check_run.id }} at {{ version }} – „exactly“.\n\nEnd.  \n' },
      policy: { agents: [REPEATER] },
    });
    const head = await cluster.head();
    let checkId: unknown = null;
    const reply = await cluster.send({
      check: 'quick-1',
      change: (payload) => {
        checkId = (payload['check_run'] as Record<string, unknown>)['id'];
      },
    });
    const runId = reply.runId ?? '';
    await cluster.waitForRun(runId, 'SUCCEEDED', PATIENCE_MS);

    const prompt = `Fix check ${checkId} at ${head} – „exactly“.\n\nEnd.  \n`;
    const digest = createHash('sha256').update(prompt, 'utf8').digest('hex');
    const { rows } = await cluster.pool.query('select spec from headgate.run where id = $1', [runId]);
    expect(rows[0].spec).toMatchObject({
      prompt,
      promptDigest: digest,
      promptValues: { 'event.check_run.id': String(checkId), version: head },
    });
    const [push] = await cluster.pushes();
    expect(await cluster.forge.read(push?.after ?? '', 'results/told.md')).toBe(prompt);
    const publicId = (reply.body as { runId: string }).runId;
    const shown = await fetch(`${cluster.member('console').url}/v1/runs/${publicId}`, {
      headers: { authorization: `Bearer ${cluster.token}` },
    });
    expect(await shown.json()).toMatchObject({ promptDigest: digest });
  },
  CLUSTER_TEST_MS,
);

test(
  'a prompt that would hold words of strangers is refused before there is a run',
  async () => {
    const cluster = await startCluster({
      layout: 'one',
      services: { worker: 1 },
      route: { prompt: 'Fix {{ event.check_run.name }}.' },
    });
    const reply = await cluster.send({ check: 'quick-1' });
    expect(reply).toMatchObject({ outcome: 'reject', reasonCode: 'TASK_CONTRACT_INVALID', runId: null });
    expect(await cluster.ask.count('headgate.run')).toBe(0);
  },
  CLUSTER_TEST_MS,
);
