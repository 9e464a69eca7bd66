/** What became active by a command, for people: whose content, under which version, since when. */
import type { Activated, PolicyActivation } from '@headgate/store';
import type { Terminal } from '../terminal/terminal.js';
import { ago, count } from '../terminal/words.js';

export interface ActivationTold {
  readonly activated: Activated;
  /** The activation that is in force; null: none is known. */
  readonly latest: PolicyActivation | null;
  readonly now: Date;
}

/** After `apply`: a file. */
export function appliedWords(path: string, told: ActivationTold, { colors }: Terminal): string {
  const { version, isChanged } = told.activated;
  return isChanged
    ? `${colors.green('✓')} ${path} is active as version ${version}.${requeued(told)}`
    : `${path} is active already, as version ${version}${since(told)}. Nothing was changed.`;
}

/** After `rollback`: one content is one version, so what is gone back to keeps its number. */
export function rolledBackWords(told: ActivationTold, { colors }: Terminal): string {
  const { version, previousVersion, isChanged } = told.activated;
  if (!isChanged) return `Version ${version} is the active one already${since(told)}. Nothing was changed.`;
  const instead = previousVersion === null ? '' : `, in the place of version ${previousVersion}`;
  return `${colors.green('✓')} Version ${version} is active again${instead}.${requeued(told)}`;
}

const since = ({ latest, now }: ActivationTold): string => {
  if (latest === null) return '';
  const { activatedAt } = latest;
  return ` since ${activatedAt.toISOString().slice(0, 19)}Z (${ago(activatedAt.toISOString(), now)})`;
};

const requeued = ({ activated: { undispatched } }: ActivationTold): string =>
  undispatched === 0 ? '' : ` ${count(undispatched, 'run')} went back into the queue.`;
