/** Amounts as people read them. Pure. */

/** To the cent; what is less than half of one is not nothing. */
export const usd = (amount: number): string =>
  amount > 0 && amount < 0.005 ? '<$0.01' : `$${amount.toFixed(2)}`;

export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1 call`, `3 calls`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
