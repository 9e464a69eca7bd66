import {
  Bubblewrap,
  chooseSandbox,
  identify,
  isAlive,
  PidNamespace,
  ProcessGroup,
  type SandboxProvider,
  SandboxRuntime,
} from '@headgate/runtimes';
import { describe, expect, it } from 'vitest';
import { describeProvider } from './sandbox-conformance.js';

/** The strongest first. Containers need an image: container.test.ts. */
const working: SandboxProvider[] = [];
for (const provider of [
  new Bubblewrap(),
  new SandboxRuntime(),
  new PidNamespace(),
  new ProcessGroup(),
]) {
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
