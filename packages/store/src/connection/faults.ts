/** Which faults of Postgres mean what. */
import { DatabaseError } from 'pg';

const codeOf = (fault: unknown): string | null =>
  fault instanceof DatabaseError || (typeof fault === 'object' && fault !== null && 'code' in fault)
    ? String((fault as { code: unknown }).code)
    : null;

/** 40001 serialization, 40P01 deadlock, 55P03 lock not available: the whole transaction may be tried again. */
export const isTransient = (fault: unknown): boolean =>
  ['40001', '40P01', '55P03'].includes(codeOf(fault) ?? '');

/** 25P02: an earlier statement of the transaction failed, and that one's fault is the cause. */
export const isAfterFault = (fault: unknown): boolean => codeOf(fault) === '25P02';

/** The statement's data was refused (class 21 to 23, HG001, too large): one row of a batch may be at fault. */
export const isDataFault = (fault: unknown): boolean => {
  const code = codeOf(fault);
  return code !== null && (/^2[123]/.test(code) || code === 'HG001' || code === '54000' || code === 'P0001');
};

const SOCKET_FAULTS = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
];

/** The session is gone or refused; whether a COMMIT in flight took effect is unknown. */
export const isConnectionFault = (fault: unknown): boolean => {
  const code = codeOf(fault);
  if (code !== null) {
    return /^(08|57P)/.test(code) || code === '53300' || code === '25P03' || SOCKET_FAULTS.includes(code);
  }
  return (
    fault instanceof Error &&
    /connection (terminated|timeout)|query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|not queryable/i.test(
      fault.message,
    )
  );
};

/** COMMIT was sent and no answer came. Read back by id before saying anything (SQL rule 8). */
export class CommitUnknownError extends Error {
  constructor(cause: unknown) {
    super('the connection was lost after COMMIT was sent: whether it took effect must be read back', {
      cause,
    });
    this.name = 'CommitUnknownError';
  }
}

/**
 * The fault is that of the rows at hand, whatever it is (refused data, a specification that cannot be read): others
 * may be done without them. Not so when the session, the server or a race is to blame.
 */
export const isRowFault = (fault: unknown): boolean =>
  !isConnectionFault(fault) &&
  !isTransient(fault) &&
  !(fault instanceof CommitUnknownError) &&
  !/^(5[357]|58|XX)/.test(codeOf(fault) ?? '');
