/** How often one address may ask. Sign-in is bounded tightly; the API so that one client cannot starve others. */
import { sendProblem } from '@headgate/service';
import type { RequestHandler } from 'express';
import { rateLimit } from 'express-rate-limit';

export interface RateLimits {
  /** Requests of one address per minute. */
  readonly apiPerMinute: number;
  /** Sign-ins of one address per minute, failed or not. */
  readonly signInPerMinute: number;
}

/** The pages ask every 2 s per open tab; scripts follow lists of 200. */
export const DEFAULT_RATE_LIMITS: RateLimits = { apiPerMinute: 1_200, signInPerMinute: 20 };

const WINDOW_MS = 60_000;

export function limiter(perMinute: number): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: perMinute,
    standardHeaders: 'draft-7',
    legacyHeaders: false,
    // Behind a proxy its own limit counts clients; here the peer is who asks.
    validate: { xForwardedForHeader: false },
    handler: (_request, response) => {
      sendProblem(response, {
        status: 429,
        code: 'TOO_MANY_REQUESTS',
        title: 'Too many requests.',
        detail: `At most ${perMinute} requests a minute are answered. Wait, then go on.`,
        retryAfterSeconds: Number(response.getHeader('retry-after') ?? WINDOW_MS / 1_000),
      });
    },
  });
}
