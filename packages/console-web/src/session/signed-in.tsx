/** Who is signed in, for everything below. Without a session the sign-in takes over, and comes back here. */
import type { Caller } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { Navigate, useLocation } from 'react-router';
import { api } from '../api/client.js';
import { isProblem } from '../api/query-client.js';
import { Broken, Loading } from '../parts/states.js';

const CallerContext = createContext<Caller | null>(null);
const ASK_AGAIN_MS = 60_000;

export function SignedIn({ children }: { readonly children: ReactNode }) {
  const caller = useQuery({
    queryKey: ['caller'],
    queryFn: () => api.caller(),
    refetchInterval: ASK_AGAIN_MS,
    staleTime: 10_000,
  });
  const { pathname, search } = useLocation();
  if (isProblem(caller.error, 401)) {
    const here = pathname + search;
    return <Navigate to={here === '/' ? '/login' : `/login?next=${encodeURIComponent(here)}`} replace />;
  }
  if (caller.data !== undefined) return <CallerContext value={caller.data}>{children}</CallerContext>;
  if (caller.error !== null)
    return <Broken isPage fault={caller.error} onRetry={() => void caller.refetch()} />;
  return <Loading what="your session" />;
}

export function useCaller(): Caller {
  const caller = useContext(CallerContext);
  if (caller === null) throw new Error('nobody is signed in here');
  return caller;
}

const RANK: Readonly<Record<Caller['role'], number>> = { viewer: 0, operator: 1, approver: 2, admin: 3 };

/** Viewers see no buttons that they may not press. */
export const useMayAct = (needed: Caller['role'] = 'operator'): boolean =>
  RANK[useCaller().role] >= RANK[needed];
