import { fileURLToPath } from 'node:url';

/** The clone's root folder; the same from src and from dist. */
export const REPOSITORY_ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
