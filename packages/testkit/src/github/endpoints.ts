/** The endpoints of the fake GitHub: each reads or changes the state and says what GitHub would answer. */
import type { Endpoint } from './endpoint.js';
import { checkRunEndpoints } from './endpoints-checks.js';
import { commentEndpoints } from './endpoints-comments.js';
import { pullEndpoints } from './endpoints-pulls.js';
import { repositoryEndpoints } from './endpoints-repository.js';

export const ENDPOINTS: readonly Endpoint[] = [
  ...repositoryEndpoints,
  ...pullEndpoints,
  ...commentEndpoints,
  ...checkRunEndpoints,
];
