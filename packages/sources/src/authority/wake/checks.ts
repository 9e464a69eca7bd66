/** Checks, suites and workflows: what was found out about a commit, as it stands now. */
import { type Item, idAt, textAt } from '../../github/fields.js';
import { type EventReader, type EventReading, otherwise, payloadOf, unresolved } from './event-source.js';

/** Who sent it says nothing of the change: nobody. */
const NOBODY = { sender: null };

export const readCheckRun: EventReader = async (source, { action, payload }) => {
  const id = idAt(payload, 'check_run', 'id');
  if (id === null) return unresolved('The event names no check run.');
  const run = await source.one('check-runs', id);
  if (run.kind !== 'found') return run;
  const premature = unlessEnded(action, run.value, `The check run ${id}`);
  if (premature !== null) return premature;
  const suiteId = idAt(run.value, 'check_suite', 'id');
  const suite = suiteId === null ? null : await source.one('check-suites', suiteId);
  if (suite !== null && suite.kind !== 'found') return suite;
  return payloadOf({ ...NOBODY, action, check_run: { ...run.value, check_suite: suite?.value ?? null } });
};

export const readCheckSuite: EventReader = async (source, { action, payload }) => {
  const id = idAt(payload, 'check_suite', 'id');
  if (id === null) return unresolved('The event names no check suite.');
  const suite = await source.one('check-suites', id);
  if (suite.kind !== 'found') return suite;
  const premature = unlessEnded(action, suite.value, `The check suite ${id}`);
  return premature ?? payloadOf({ ...NOBODY, action, check_suite: suite.value });
};

export const readWorkflowRun: EventReader = async (source, { action, payload }) => {
  const id = idAt(payload, 'workflow_run', 'id');
  if (id === null) return unresolved('The event names no workflow run.');
  const run = await source.one('actions', 'runs', id);
  if (run.kind !== 'found') return run;
  const premature = unlessEnded(action, run.value, `The workflow run ${id}`);
  const sender = run.value['triggering_actor'] ?? run.value['actor'] ?? null;
  return premature ?? payloadOf({ action, workflow_run: run.value, sender });
};

/** A re-run begins anew: what had ended when it was told goes on now. */
function unlessEnded(action: string | null, found: Item, name: string): EventReading | null {
  const status = textAt(found, 'status');
  return action !== 'completed' || status === 'completed'
    ? null
    : otherwise(`${name} has not ended: it is ${status ?? 'unknown'}.`);
}
