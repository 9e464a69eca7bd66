import type { Candidate } from './types.js';

/** What it tells was not looked at before: not by the receipt that it is a promotion of. */
export const isNews = ({ parentReceiptId, isWoken = false }: Candidate): boolean =>
  parentReceiptId === null || isWoken;
