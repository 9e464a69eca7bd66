/** People know a schedule or a goal by its route; the API knows it by its id. */
import { CommandEnd, EXIT } from '../exit.js';

interface Timer {
  readonly id: string;
  readonly route: string;
}

const TIMER_ID = /^(?:sch|goal)_/;

/** The id itself, or that of the route's only one. Ends the command when the route has none, or several. */
export async function idByRoute(
  idOrRoute: string,
  noun: 'schedule' | 'goal',
  timers: AsyncIterable<Timer>,
): Promise<string> {
  if (TIMER_ID.test(idOrRoute)) return idOrRoute;
  const found: string[] = [];
  for await (const { id, route } of timers) if (route === idOrRoute) found.push(id);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new CommandEnd(
      EXIT.notFound,
      `No ${noun} belongs to a route "${idOrRoute}".`,
      `All there are: headgate ${noun}s list`,
    );
  }
  if (others.length > 0) {
    throw new CommandEnd(
      EXIT.usage,
      `The route "${idOrRoute}" has ${found.length} ${noun}s.`,
      `Name one: ${found.join(', ')}`,
    );
  }
  return only;
}
