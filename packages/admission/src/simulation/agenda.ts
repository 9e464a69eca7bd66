/** What happens next: a binary heap by time; of one instant in the order in which it was added. */
export class Agenda<Event> {
  readonly #heap: { readonly atMs: number; readonly order: number; readonly event: Event }[] = [];
  #added = 0;

  add(at: Date, event: Event): void {
    this.#heap.push({ atMs: at.getTime(), order: this.#added++, event });
    let child = this.#heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#isBefore(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  /** Takes the earliest; null when there is none. */
  next(): { readonly at: Date; readonly event: Event } | null {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return null;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    return { at: new Date(first.atMs), event: first.event };
  }

  #sink(): void {
    for (let parent = 0; ; ) {
      const [left, right] = [2 * parent + 1, 2 * parent + 2];
      let earliest = parent;
      if (left < this.#heap.length && this.#isBefore(left, earliest)) earliest = left;
      if (right < this.#heap.length && this.#isBefore(right, earliest)) earliest = right;
      if (earliest === parent) return;
      this.#swap(parent, earliest);
      parent = earliest;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.atMs !== other.atMs ? one.atMs < other.atMs : one.order < other.order;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
