/** A promise that somebody else settles. */
export interface Gate<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (fault: unknown) => void;
}

export function gate<T = void>(): Gate<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (fault: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
