/** The deployables: each runs alone, and `up` runs them all. Loaded when asked for, so that other commands start fast. */
import type { MakeService } from '@headgate/service';

export const SERVICE_NAMES = ['intake', 'scheduler', 'worker', 'reconciler', 'console'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

const LOADERS: Readonly<Record<ServiceName, () => Promise<MakeService>>> = {
  intake: async () => (await import('@headgate/intake')).createIntake,
  scheduler: async () => (await import('@headgate/scheduler')).createScheduler,
  worker: async () => (await import('@headgate/worker')).createWorker,
  reconciler: async () => (await import('@headgate/reconciler')).createReconciler,
  console: async () => (await import('@headgate/console')).createConsole,
};

export function loadService(name: ServiceName): Promise<MakeService> {
  return LOADERS[name]();
}
