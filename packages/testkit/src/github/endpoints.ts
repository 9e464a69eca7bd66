/** The endpoints of the fake GitHub: each reads or changes the state and says what GitHub would answer. */
import type { AppEndpoint, Endpoint } from './endpoint.js';
import { appEndpoints } from './endpoints-app.js';
import { checkRunEndpoints } from './endpoints-checks.js';
import { commentEndpoints } from './endpoints-comments.js';
import { compareEndpoints } from './endpoints-compare.js';
import { gitEndpoints } from './endpoints-git.js';
import { hookEndpoints } from './endpoints-hooks.js';
import { listEndpoints } from './endpoints-lists.js';
import { peopleEndpoints } from './endpoints-people.js';
import { pullEndpoints } from './endpoints-pulls.js';
import { repositoryEndpoints } from './endpoints-repository.js';
import { reviewEndpoints } from './endpoints-reviews.js';

export const ENDPOINTS: readonly Endpoint[] = [
  ...repositoryEndpoints,
  ...listEndpoints,
  ...reviewEndpoints,
  ...compareEndpoints,
  ...gitEndpoints,
  ...pullEndpoints,
  ...commentEndpoints,
  ...peopleEndpoints,
  ...checkRunEndpoints,
];

export const APP_ENDPOINTS: readonly AppEndpoint[] = [...appEndpoints, ...hookEndpoints];
