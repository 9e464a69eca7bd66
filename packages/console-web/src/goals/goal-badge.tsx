import type { Goal, Observation } from '@headgate/sdk';
import { Badge, type Mark } from '../parts/status.js';

const STATES: Readonly<Record<Goal['state'], Mark>> = {
  active: { shape: '◎', tone: 'accent' },
  paused: { shape: '‖', tone: 'warn' },
  done: { shape: '✓', tone: 'good' },
  'given-up': { shape: '✕', tone: 'bad' },
};

export const GoalBadge = ({ state }: { readonly state: Goal['state'] }) => (
  <Badge mark={STATES[state]} word={state} />
);

const OUTCOMES: Readonly<Record<Observation['outcome'], Mark>> = {
  holds: { shape: '✓', tone: 'good' },
  open: { shape: '○', tone: 'quiet' },
  unknown: { shape: '?', tone: 'warn' },
};

export const ObservationBadge = ({ outcome }: { readonly outcome: Observation['outcome'] }) => (
  <Badge mark={OUTCOMES[outcome]} word={outcome} />
);
