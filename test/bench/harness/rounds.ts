/** Several rounds of several things, interleaved, so that what the machine does besides falls on all of them. */

export type Measured<Name extends string> = Readonly<Record<Name, readonly number[]>>;

export async function interleaved<Name extends string>(
  rounds: number,
  things: Readonly<Record<Name, (round: number) => Promise<number>>>,
): Promise<Measured<Name>> {
  const names = Object.keys(things) as Name[];
  const values = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) values[name].push(await things[name](round));
  }
  return values;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** Median of the ratios of each round: two things of one round saw the same machine. */
export const ratio = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((value, at) => value / (theirs[at] ?? Number.NaN)));
