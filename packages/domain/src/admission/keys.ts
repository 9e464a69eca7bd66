/** Keys of the maps in `AdmissionState`. Source and tenant ids hold no NUL, so no two pairs meet. */
import type { Signal } from '../signal.js';

export const deliveryKey = (signal: Pick<Signal, 'source' | 'eventId'>): string =>
  `${signal.source}\u0000${signal.eventId}`;
export const taskKey = (tenant: string, workKey: string): string => `${tenant}\u0000${workKey}`;
export const versionKey = (tenant: string, version: string): string => `${tenant}\u0000${version}`;
export const subjectKey = (tenant: string, subject: string): string => `${tenant}\u0000${subject}`;
export const rateKey = (tenant: string, kind: 'target' | 'actor', subject: string): string =>
  `${tenant}\u0000${kind}\u0000${subject}`;
