import type { Page, PageQuery } from './types/index.js';

/** A list of the API: one page at a time, or every item, fetched as they are asked for. */
export interface Listing<Item, Query extends PageQuery> {
  page(query?: Query): Promise<Page<Item>>;
  /** All of them from `query.cursor` on; `query.limit` is the size of a page. */
  all(query?: Query): AsyncGenerator<Item, void, undefined>;
}

export function listing<Item, Query extends PageQuery>(
  read: (query: Query | undefined) => Promise<Page<Item>>,
): Listing<Item, Query> {
  async function* all(query?: Query): AsyncGenerator<Item, void, undefined> {
    let at = query;
    for (;;) {
      const { items, nextCursor } = await read(at);
      yield* items;
      if (nextCursor === null) return;
      at = { ...at, cursor: nextCursor } as Query;
    }
  }
  return { page: read, all };
}
