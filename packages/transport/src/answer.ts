/**
 * What Redis said, as a value. Redis being away is an expected outcome here (law 1), never an exception.
 */
export type Unavailable = {
  readonly ok: false;
  /** absent: none is configured. down: not connected. frozen: connected, and it does not answer. error: it refused. */
  readonly reason: 'absent' | 'down' | 'frozen' | 'error';
  readonly message: string;
};

export type RedisAnswer<T> = { readonly ok: true; readonly value: T } | Unavailable;

export const ABSENT: Unavailable = {
  ok: false,
  reason: 'absent',
  message: 'No Redis is configured (REDIS_URL).',
};
