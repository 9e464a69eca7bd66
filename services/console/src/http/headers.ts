/** Security headers: nothing from elsewhere, nothing inline, no framing. */
import { BULL_BOARD_CSP } from '@headgate/transport';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

const common = {
  // The edge may be plain http on loopback; whoever puts TLS before it sets HSTS there.
  strictTransportSecurity: false,
  referrerPolicy: { policy: 'no-referrer' },
} as const;

/** For pages and the API. */
export const strictHeaders = (): RequestHandler =>
  helmet({
    ...common,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'"],
        'connect-src': ["'self'"],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
  });

/** What agents wrote is shown as bytes: it may do nothing, wherever it is opened. */
export const SANDBOXED_CSP = "default-src 'none'; sandbox";

export const bullBoardHeaders = (): RequestHandler =>
  helmet({
    ...common,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: Object.fromEntries(Object.entries(BULL_BOARD_CSP).map(([name, list]) => [name, [...list]])),
    },
  });
