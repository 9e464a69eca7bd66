import { readFileSync } from 'node:fs';

/** Of this package, which carries the product's. */
export const VERSION: string = (() => {
  const found: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const version = typeof found === 'object' && found !== null && 'version' in found ? found.version : null;
  if (typeof version !== 'string') throw new Error('package.json names no version');
  return version;
})();
