/** Keys of the maps in `AdmissionState`. Source and tenant ids hold no NUL, so no two pairs meet. */
import type { Signal } from '../signal.js';

export const deliveryKey = (signal: Signal): string => `${signal.source}\u0000${signal.eventId}`;
export const taskKey = (tenant: string, workKey: string): string => `${tenant}\u0000${workKey}`;
