import { HeadgateProblem } from '@headgate/sdk';
import { QueryClient } from '@tanstack/react-query';

const MAX_TRIES = 2;

export const isProblem = (fault: unknown, status: number): boolean =>
  fault instanceof HeadgateProblem && fault.status === status;

/** A fault is tried again; a problem that will be the same next time is not. */
function mayHelpToRetry(failures: number, fault: unknown): boolean {
  if (failures >= MAX_TRIES) return false;
  return !(fault instanceof HeadgateProblem) || fault.status >= 500;
}

export function newQueryClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        retry: mayHelpToRetry,
        staleTime: 2_000,
        refetchOnWindowFocus: true,
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
  // The session ended: whoever asks next learns it from the caller's own query, and signs in again.
  client.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || query.queryKey[0] === 'caller') return;
    if (query.state.status === 'error' && isProblem(query.state.error, 401)) {
      void client.invalidateQueries({ queryKey: ['caller'] });
    }
  });
  return client;
}
