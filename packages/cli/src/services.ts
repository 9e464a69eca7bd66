/** The deployables: each runs alone, and `up` runs them all. Loaded when asked for, so that other commands start fast. */
import type { MakeService, Service, ServiceContext } from '@headgate/service';

export const SERVICE_NAMES = ['intake', 'scheduler', 'worker', 'reconciler', 'console'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

const LOADERS: Readonly<Record<ServiceName, () => Promise<MakeService | null>>> = {
  intake: async () => makerIn(await import('@headgate/intake'), 'createIntake'),
  scheduler: async () => makerIn(await import('@headgate/scheduler'), 'createScheduler'),
  worker: async () => makerIn(await import('@headgate/worker'), 'createWorker'),
  reconciler: async () => makerIn(await import('@headgate/reconciler'), 'createReconciler'),
  console: async () => makerIn(await import('@headgate/console'), 'createConsole'),
};

export function loadService(name: ServiceName): Promise<MakeService | null> {
  return LOADERS[name]();
}

function makerIn(module: object, name: string): MakeService | null {
  const make: unknown = Reflect.get(module, name);
  return typeof make === 'function' ? (context: ServiceContext) => make(context, {}) as Service : null;
}
