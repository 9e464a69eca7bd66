/** Names of things in Redis. All of ours share one hash tag, so that a cluster keeps them in one slot. */

export const DEFAULT_PREFIX = '{headgate}';

/**
 * The key prefix with a hash tag: `{headgate}` stays, `test-7` becomes `{test-7}`.
 * BullMQ separates with `:`, so a prefix with a colon would be ambiguous.
 */
export function keyPrefixOf(prefix: string): string {
  const tagged = /^\{[^{}]+\}/.test(prefix) ? prefix : `{${prefix}}`;
  if (tagged === '{}' || tagged.includes(':') || /[{}]/.test(tagged.replace(/^\{[^{}]+\}/, ''))) {
    throw new Error(`"${prefix}" cannot be a Redis key prefix: no colon, no braces but one leading pair.`);
  }
  return tagged;
}

/**
 * The BullMQ queue of a queue (a capability profile) of the configuration. Plain ids stay as they are, so that
 * people recognise them in Bull Board; any other character becomes `~` and its bytes in hex, so that two ids
 * never share a queue.
 */
export function queueNameOf(queueKey: string): string {
  if (queueKey === '') throw new Error('A queue needs an id.');
  return queueKey.replace(/[^A-Za-z0-9._-]/gu, (character) =>
    [...Buffer.from(character, 'utf8')].map((byte) => `~${byte.toString(16).padStart(2, '0')}`).join(''),
  );
}

/** The pub/sub channel of a wake-up topic. */
export function wakeChannelOf(keyPrefix: string, topic: string): string {
  return `${keyPrefix}:wake:${topic}`;
}

/** A SCAN pattern that matches exactly the keys under a prefix. */
export function ownKeysPattern(keyPrefix: string): string {
  return `${keyPrefix.replace(/[[\]*?\\^]/g, (character) => `\\${character}`)}:*`;
}
