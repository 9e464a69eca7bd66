import type { ScheduleTick } from '@headgate/sdk';
import { Badge, type Mark } from '../parts/status.js';

/** Only what nobody wanted is loud. */
const BUCKETS: Readonly<Record<ScheduleTick['bucket'], Mark>> = {
  fired: { shape: '✓', tone: 'good' },
  buffered: { shape: '◷', tone: 'warn' },
  skipped: { shape: '–', tone: 'quiet' },
  missed: { shape: '✕', tone: 'bad' },
  excluded: { shape: '⊘', tone: 'quiet' },
  paused: { shape: '‖', tone: 'quiet' },
  discarded: { shape: '∅', tone: 'quiet' },
};

export const BucketBadge = ({ bucket }: { readonly bucket: ScheduleTick['bucket'] }) => (
  <Badge mark={BUCKETS[bucket]} word={bucket} />
);

const STATES: Readonly<Record<'active' | 'paused', Mark>> = {
  active: { shape: '●', tone: 'good' },
  paused: { shape: '‖', tone: 'warn' },
};

export const ScheduleBadge = ({ state }: { readonly state: 'active' | 'paused' }) => (
  <Badge mark={STATES[state]} word={state} />
);
