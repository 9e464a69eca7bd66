import {
  Bubblewrap,
  chooseSandbox,
  identify,
  isAlive,
  PidNamespace,
  ProcessGroup,
  probeOtherSandboxes,
  type SandboxProvider,
  SandboxRuntime,
  sandboxCandidates,
} from '@headgate/runtimes';
import { describe, expect, it } from 'vitest';
import { describeProvider } from './sandbox-conformance.js';

/** The strongest first. Containers need an image: container.test.ts. */
const working: SandboxProvider[] = [];
for (const provider of [new Bubblewrap(), new SandboxRuntime(), new PidNamespace(), new ProcessGroup()]) {
  const probe = await provider.probe();
  if (probe.kind === 'available') {
    working.push(provider);
    describeProvider(provider);
  } else if (process.env['HEADGATE_REQUIRE_ALL'] === '1') {
    it(`${provider.name} works here, as every tool is required`, () => expect(probe).toBe('available'));
  } else {
    describe.skip(`${provider.name} (skipped: ${probe.detail}; ${probe.remedy})`, () =>
      it('conforms', () => {}));
  }
}

describe('chooseSandbox', () => {
  it('takes the strongest that works, and warns while agents are not isolated', async () => {
    const chosen = await chooseSandbox();
    expect(chosen.provider.name).toBe(working[0]?.name);
    if (chosen.provider.mayRunUntrusted) expect(chosen.warning).toBeNull();
    else expect(chosen.warning).toMatch(/only the example agent may run here/);
  });

  it('falls back when a provider does not work, and keeps what each said', async () => {
    const broken: SandboxProvider = {
      name: 'broken',
      isolation: 'bubblewrap',
      mayRunUntrusted: true,
      hasNetworkList: true,
      probe: async () => ({ kind: 'unavailable', detail: 'no user namespaces', remedy: 'sysctl' }),
      start: () => {
        throw new Error('never started');
      },
    };
    const chosen = await chooseSandbox([broken, new ProcessGroup()]);
    expect(chosen.provider.name).toBe('process-group');
    expect(chosen.limits).toEqual(['output']);
    expect(chosen.warning).toMatch(/To mend it: sysctl$/);
    expect(chosen.probes[0]).toMatchObject({ name: 'broken', probe: { kind: 'unavailable' } });
    await expect(chooseSandbox([broken])).rejects.toThrow(/no user namespaces/);
  });

  it('tries all, or the one that is asked for by name and no other that isolates', () => {
    const tried = (asked?: string) =>
      sandboxCandidates({ HEADGATE_SANDBOX_PROVIDER: asked }).map(({ name }) => name);
    const fallBacks = ['pid-namespace', 'process-group'];
    const all = ['bubblewrap', 'sandbox-runtime', 'container', ...fallBacks];
    for (const asked of [undefined, '', 'auto']) expect(tried(asked)).toEqual(all);
    expect(tried('container')).toEqual(['container', ...fallBacks]);
    // No fall-back may be asked for: it would run nobody's agents.
    for (const asked of ['docker', 'process-group']) {
      expect(() => tried(asked)).toThrow(/write auto, or one of bubblewrap, sandbox-runtime, container$/);
    }
  });

  it('the doctor asks those too that the choice did not come to', async () => {
    const chosen = await chooseSandbox([new ProcessGroup()]);
    const others = await probeOtherSandboxes(chosen, { HEADGATE_SANDBOX_IMAGE: 'agents.example:1' });
    expect(others.map(({ name }) => name)).toEqual(['bubblewrap', 'sandbox-runtime', 'container']);
    for (const { probe } of others) {
      if (probe.kind === 'unavailable') expect(probe.remedy).not.toBe('');
    }
  });
});

describe('process identity', () => {
  it('is not fooled by a number that is used again', () => {
    const self = identify(process.pid);
    if (self === null) throw new Error('this process runs');
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, startTicks: '1' })).toBe(false);
    expect(isAlive({ ...self, bootId: 'another boot' })).toBe(false);
  });
});
