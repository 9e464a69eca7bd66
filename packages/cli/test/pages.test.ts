import { chooseSandbox, type Probe, ProcessGroup, type SandboxProvider } from '@headgate/runtimes';
import type { Explanation, Worker } from '@headgate/sdk';
import { describe, expect, it } from 'vitest';
import { StepPage } from '../src/demo/page.js';
import { sandboxChecks } from '../src/doctor/machine.js';
import { troublesIn } from '../src/status/troubles.js';
import { explanationTree } from '../src/terminal/explanation-tree.js';
import { runPage } from '../src/terminal/run-page.js';
import { remarkTable } from '../src/terminal/table.js';
import { ago, duration } from '../src/terminal/words.js';
import { NOW, recordingTerminal } from './command-line.js';
import { RUN, WAITING_RUN } from './samples.js';

/** Times of day are local to the reader; what is tested here is everything else. */
const timeless = (text: string): string => text.replaceAll(/\d\d:\d\d:\d\d(?!\.)/g, 'HH:MM:SS');

const step = (fields: Partial<Explanation['steps'][number]>): Explanation['steps'][number] => ({
  at: '2026-01-31T13:50:01.000Z',
  type: 'receipt.decision',
  outcome: null,
  reasonCode: null,
  message: '',
  rule: null,
  actor: null,
  receiptId: null,
  runId: null,
  count: 1,
  lastAt: '2026-01-31T13:50:01.000Z',
  ...fields,
});

describe('why, as a tree', () => {
  it('hangs what happened to a run below the signal that led to it, and a duplicate stands beside it', () => {
    const explanation: Explanation = {
      ref: 'acme/api#7',
      kind: 'run',
      summary: 'A run started and ended.',
      steps: [
        step({
          outcome: 'accept',
          reasonCode: 'ADMITTED',
          message: 'Made a run.',
          rule: 'new-work',
          runId: 'run_1',
        }),
        step({ type: 'run.claimed', message: 'A worker took the lease.', runId: 'run_1' }),
        step({ type: 'run.succeeded', reasonCode: 'SUCCEEDED', message: 'Done.', runId: 'run_1' }),
        step({
          outcome: 'reject',
          reasonCode: 'DUPLICATE_DELIVERY',
          message: 'Seen.',
          receiptId: 'rcpt_2',
          runId: 'run_1',
        }),
      ],
      waiting: null,
      candidates: [],
    };
    expect(timeless(explanationTree(explanation, recordingTerminal()))).toMatchInlineSnapshot(`
      "why  acme/api#7  (run)
      A run started and ended.
      ├ HH:MM:SS  accept  ADMITTED  Made a run.  rule new-work, run_1
      │   ├ HH:MM:SS  run.claimed  A worker took the lease.
      │   └ HH:MM:SS  run.succeeded  SUCCEEDED  Done.
      └ HH:MM:SS  reject  DUPLICATE_DELIVERY  Seen.  run_1"
    `);
  });

  it('says equal duplicates in one line, with how many and until when', () => {
    const explanation: Explanation = {
      ref: 'x',
      kind: 'delivery',
      summary: 's',
      steps: [step({ outcome: 'reject', reasonCode: 'DUPLICATE_DELIVERY', message: 'Seen.', count: 20 })],
      waiting: null,
      candidates: [],
    };
    expect(timeless(explanationTree(explanation, recordingTerminal()))).toMatchInlineSnapshot(`
      "why  x  (delivery)
      s
      └ HH:MM:SS  reject  DUPLICATE_DELIVERY  Seen.  20 times, until HH:MM:SS"
    `);
  });

  it('leaves out the ordinary steps where several runs stand beside each other, and keeps what went wrong', () => {
    const lifeOf = (runId: string, ...between: Explanation['steps']) => [
      step({ outcome: 'accept', reasonCode: 'ADMITTED', message: 'Made a run.', runId }),
      step({ type: 'run.queued', message: 'Queued.', runId }),
      step({ type: 'run.claimed', message: 'A worker took the lease.', runId }),
      ...between,
      step({ type: 'run.succeeded', message: 'Done.', runId }),
    ];
    const explanation: Explanation = {
      ref: 'acme/api',
      kind: 'url',
      summary: '2 signals led to 2 runs.',
      steps: [
        ...lifeOf('run_1'),
        ...lifeOf(
          'run_2',
          step({ type: 'attempt.lost', reasonCode: 'WORKER_LOST', message: 'Lost.', runId: 'run_2' }),
        ),
      ],
      waiting: null,
      candidates: [],
    };
    expect(timeless(explanationTree(explanation, recordingTerminal()))).toMatchInlineSnapshot(`
      "why  acme/api  (url)
      2 signals led to 2 runs.
      ├ HH:MM:SS  accept  ADMITTED  Made a run.  run_1
      │   ├ HH:MM:SS  run.succeeded  Done.
      │   └ 2 ordinary steps: headgate why run_1
      └ HH:MM:SS  accept  ADMITTED  Made a run.  run_2
          ├ HH:MM:SS  attempt.lost  WORKER_LOST  Lost.
          ├ HH:MM:SS  run.succeeded  Done.
          └ 2 ordinary steps: headgate why run_2"
    `);
    const alone = explanationTree({ ...explanation, steps: lifeOf('run_1') }, recordingTerminal());
    expect(alone).toContain('run.queued');
  });

  it('puts the run’s steps below the signal even when the run’s first step is listed before it', () => {
    const explanation: Explanation = {
      ref: 'run_1',
      kind: 'run',
      summary: 's',
      steps: [
        step({ type: 'run.admitted', message: 'made', runId: 'run_1' }),
        step({ outcome: 'accept', reasonCode: 'ADMITTED', message: 'Made a run.', runId: 'run_1' }),
      ],
      waiting: null,
      candidates: [],
    };
    const lines = explanationTree(explanation, recordingTerminal()).split('\n');
    expect(lines[2]).toMatch(/^└ .*ADMITTED/);
    expect(lines[3]).toMatch(/^ {4}└ .*run\.admitted/);
  });

  it('ends with what a waiting run waits for', () => {
    const explanation: Explanation = {
      ref: 'run_2',
      kind: 'run',
      summary: 'It waits.',
      steps: [],
      waiting: WAITING_RUN.waiting,
      candidates: [],
    };
    expect(timeless(explanationTree(explanation, recordingTerminal()))).toMatchInlineSnapshot(`
      "why  run_2  (run)
      It waits.
      └ ○ waits since HH:MM:SS  REPOSITORY_AT_LIMIT: 2 of 2 run; 3rd in line.
            starts when a run of acme/api ends"
    `);
  });
});

describe('a run on a page', () => {
  it('says where it stands, what it did outside, and the next thing to do', () => {
    expect(timeless(runPage(RUN, recordingTerminal(), NOW))).toMatchInlineSnapshot(`
      "✓ succeeded  run_01k  pushed agent/task_01k/run_01k

        route       fix-failing-check, agent example, mode act
        repository  acme/api
        work        42/pr/7/check/unit at 9f31c2, generation 1
        status      SUCCEEDED since 2026-01-31T13:50:05.000Z (5 s ago)
        created     2026-01-31T13:50:00.000Z (10 s ago)
        ran         4 s
        branch      agent/task_01k/run_01k
        cost        $0.84 of $3.00
        queue       default, policy version 17
        receipt     rcpt_01k
        task        task_01k

      headgate why run_01k"
    `);
  });

  it('of a waiting run says since when and what would let it start', () => {
    const page = runPage(WAITING_RUN, recordingTerminal(), NOW);
    expect(page).toContain('○ waiting');
    expect(page).toContain('a run of acme/api ends');
    expect(page).toContain('headgate runs cancel run_02k');
  });
});

describe('status', () => {
  const queue = {
    id: 'gpu',
    risk: [],
    ready: 0,
    delayed: 0,
    dispatched: 0,
    running: 0,
    oldestReadyAt: null as string | null,
    liveWorkers: 1,
    slots: 4,
    hints: null,
  };
  const health = {
    sources: [],
    checks: { postgres: 'ok', policy: 'ok', redis: 'ok', tracing: 'working' },
    queues: [queue],
    workers: [],
    deadLetters: 0,
    deadLetterSince: null,
  } as const;
  const longAgo = '2026-01-31T13:00:00.000Z';

  it('finds nothing where nothing is wrong', () => {
    expect(troublesIn(health, NOW)).toEqual([]);
    const source = {
      ...({
        tenant: 'default',
        source: 'acme',
        repository: 'acme/api',
        outcome: 'looked',
        detail: null,
      } as const),
      ...{ failures: 0, lookedAt: null, nextAt: NOW.toISOString(), silentSince: null, silentCount: 0 },
    };
    const silent = { ...source, silentSince: NOW.toISOString(), silentCount: 2 };
    const denied = { ...source, outcome: 'denied', detail: 'Not installed.', failures: 3 } as const;
    expect(troublesIn({ ...health, sources: [silent, denied, source] }, NOW)).toMatchObject([
      {
        code: 'SOURCE_SILENT',
        message: 'acme, acme/api: the scan found 2 events that the hook did not bring',
      },
      { code: 'SOURCE_UNAVAILABLE', advice: 'correct app or token of the source' },
    ]);
  });

  it('NO_ISOLATION: names the command that mends it while no live worker can isolate agents', () => {
    const worker = {
      id: 'wkr_1',
      name: 'w',
      state: 'READY' as const,
      isLive: true,
      capabilities: { agentRuns: false, isolationRemedy: 'apt-get install bubblewrap' },
      queues: ['default'],
      slots: 4,
      held: 0,
      host: 'h',
      pid: 1,
      version: '0',
      registeredAt: longAgo,
      heartbeatAt: longAgo,
      stoppedAt: null,
    } satisfies Worker;
    const troubles = (workers: readonly Worker[]) => troublesIn({ ...health, workers }, NOW);
    expect(troubles([worker])).toMatchObject([
      { code: 'NO_ISOLATION', severity: 'warning', advice: 'apt-get install bubblewrap' },
    ]);
    const other = { ...worker, capabilities: { agentRuns: true } };
    expect(troubles([worker, other])).toEqual([]);
    expect(troubles([{ ...worker, isLive: false }])).toEqual([]);
  });

  it('speaks of nothing else while Postgres is down', () => {
    const down = { ...health, checks: { ...health.checks, postgres: 'down', redis: 'degraded' } } as const;
    expect(troublesIn(down, NOW).map(({ code }) => code)).toEqual(['POSTGRES_DOWN']);
  });

  it.each([
    ['no worker can run it', { ready: 2, oldestReadyAt: longAgo, liveWorkers: 0 }, ['NO_CAPABLE_WORKER']],
    ['it is late and slots are free', { ready: 2, oldestReadyAt: longAgo }, ['READY_NOT_STARTED']],
    ['all slots are busy', { ready: 2, oldestReadyAt: longAgo, running: 4 }, ['ALL_SLOTS_BUSY']],
    ['it has only just become ready', { ready: 2, oldestReadyAt: '2026-01-31T13:50:05.000Z' }, []],
  ])('of work that is ready: %s', (_what, fields, codes) => {
    const troubles = troublesIn({ ...health, queues: [{ ...queue, ...fields }] }, NOW);
    expect(troubles.map(({ code }) => code)).toEqual(codes);
    for (const { since, advice } of troubles) {
      expect(since).toBe(longAgo);
      expect(advice).not.toBe('');
    }
  });
});

describe('what doctor says of sandboxes', () => {
  const broken: SandboxProvider = {
    name: 'bubblewrap',
    isolation: 'bubblewrap',
    mayRunUntrusted: true,
    hasNetworkList: true,
    probe: async () => ({
      kind: 'unavailable',
      detail: 'not installed',
      remedy: 'apt-get install bubblewrap',
    }),
    start: () => {
      throw new Error('never started');
    },
  };

  it('NO_ISOLATION: names the one command that mends it', async () => {
    const checks = sandboxChecks(await chooseSandbox([broken, new ProcessGroup()]));
    expect(checks).toContainEqual({
      id: 'isolation',
      state: 'warning',
      message: expect.stringContaining('NO_ISOLATION'),
      fix: 'apt-get install bubblewrap',
    });
  });

  it('lists the limits that hold', async () => {
    const works: SandboxProvider = {
      ...broken,
      probe: async () => ({ kind: 'available', detail: 'as a user of its own', limits: ['memory', 'disk'] }),
    };
    expect(sandboxChecks(await chooseSandbox([works]))).toEqual([
      {
        id: 'sandbox.bubblewrap',
        state: 'ok',
        message:
          'bubblewrap runs the agents: as a user of its own; it limits memory, disk; network lists: yes',
        fix: null,
      },
    ]);
  });
});

describe('what doctor says of sandboxes that are not taken', () => {
  const works: Probe = { kind: 'available', detail: 'as a user of its own', limits: ['memory', 'disk'] };
  const broken: Probe = {
    kind: 'unavailable',
    detail: 'docker does not answer',
    remedy: 'systemctl start docker',
  };
  const provider = (name: string, probe: Probe): SandboxProvider => ({
    name,
    isolation: 'bubblewrap',
    mayRunUntrusted: true,
    hasNetworkList: true,
    probe: async () => probe,
    start: () => {
      throw new Error('never started');
    },
  });

  it('names those that would work too, and the one command for those that would not', async () => {
    const chosen = await chooseSandbox([provider('bubblewrap', works)]);
    const checks = sandboxChecks(chosen, [
      { name: 'sandbox-runtime', hasNetworkList: true, probe: works },
      { name: 'container', hasNetworkList: true, probe: broken },
    ]);
    expect(checks.map(({ id, state }) => [id, state])).toEqual([
      ['sandbox.bubblewrap', 'ok'],
      ['sandbox.sandbox-runtime', 'ok'],
      ['sandbox.container', 'skipped'],
    ]);
    expect(checks[1]?.message).toMatch(/^sandbox-runtime would work too: /);
    expect(checks[2]).toMatchObject({
      message: 'container does not work: docker does not answer; bubblewrap is taken',
      fix: 'systemctl start docker',
    });
  });
});

describe('a page of steps', () => {
  it('without a terminal is one line for each step that is over', () => {
    const terminal = recordingTerminal();
    const page = new StepPage(terminal, 'Title', ['one', 'two']);
    page.set(0, 'active', 'working');
    page.set(0, 'done', 'in time');
    page.set(0, 'done', 'in time');
    page.set(1, 'failed', 'broken');
    expect(terminal.said.out).toBe('Title\n✓ one  in time\n✕ two  broken\n');
  });

  it('on a terminal is redrawn in place, and no line wraps', () => {
    const terminal = { ...recordingTerminal(), isLive: true, columns: 20 };
    const page = new StepPage(terminal, 'Title', ['one']);
    page.set(0, 'active', 'a detail that is far too long for it');
    const [, second = ''] = terminal.said.out.split('\u001b[4A');
    const drawn = second.replaceAll('\u001b[2K', '').split('\n');
    expect(drawn[0]).toBe('Title');
    expect(Math.max(...drawn.map((line) => line.length))).toBeLessThanOrEqual(20);
  });
});

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [850, '850 ms'],
    [12_400, '12 s'],
    [185_000, '3 m 05 s'],
    [7_800_000, '2 h 10 m'],
    [345_600_000, '4 d'],
  ])('%i ms reads %s', (ms, text) => expect(duration(ms)).toBe(text));

  it('a time that lies ahead is said to', () => {
    expect(ago('2026-01-31T13:50:22.000Z', NOW)).toBe('in 12 s');
    expect(ago(null, NOW)).toBe('');
  });
});

describe('a table with a remark', () => {
  const rows = [
    ['run_01k3v0m4k8e7zv6n4x5q2w1r0t', 'pushed agent/task_01k3v0m4k8e7zv6n4x5q2w1r0t'],
    ['run_01k3v0m4k8e7zv6n4x5q2w1r0u', ''],
  ] as const;
  const shown = (isLive: boolean, columns: number) =>
    remarkTable({ ...recordingTerminal(), isLive, columns }, ['run', ''], rows).split('\n');

  it('cuts the remark, and nothing before it, to a line of a narrow terminal', () => {
    expect(shown(true, 60)[1]).toBe('run_01k3v0m4k8e7zv6n4x5q2w1r0t  pushed agent/task_01k3v0m4k…');
    expect(shown(true, 60)[2]).toBe('run_01k3v0m4k8e7zv6n4x5q2w1r0u');
  });

  it('is whole where it is piped, where it fits, and where nothing worth reading would be left', () => {
    const whole = `${rows[0][0]}  ${rows[0][1]}`;
    expect([shown(false, 60)[1], shown(true, 120)[1], shown(true, 40)[1]]).toEqual([whole, whole, whole]);
  });
});
