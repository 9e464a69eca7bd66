import type { BlockCode } from '@headgate/domain';
import { metrics } from '@headgate/telemetry';

/** Which dimension a block is about; null where no limit was at work (its turn, no worker). */
const DIMENSION_OF = {
  GLOBAL_AT_LIMIT: 'global',
  TENANT_AT_LIMIT: 'tenant',
  REPOSITORY_AT_LIMIT: 'repository',
  USER_AT_LIMIT: 'user',
  RISK_AT_LIMIT: 'risk',
  PROVIDER_AT_LIMIT: 'provider',
  CONCURRENCY_KEY_BUSY: 'concurrency_key',
  NO_CAPABLE_WORKER: null,
  NO_ISOLATION: null,
  READY: null,
} as const satisfies Record<BlockCode, string | null>;

/** Counts a ready run that was passed over. */
export function countDenied(code: BlockCode): void {
  const dimension = DIMENSION_OF[code];
  if (dimension !== null) metrics.capacityDenied.add(1, { dimension });
}
