// node autocannon.mjs URL SECONDS CONNECTIONS REQUESTS: the load where wrk is not installed. REQUESTS: see harness/load.ts.
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const [url, seconds, connections, file] = process.argv.slice(2);
const { path, headers, parts, lines } = JSON.parse(readFileSync(file, 'utf8'));
let at = 0;
const result = await autocannon({
  url,
  duration: Number(seconds),
  connections: Number(connections),
  requests: [
    {
      method: 'POST',
      path,
      setupRequest: (request) => {
        const [number, delivery, signature] = lines[at % lines.length];
        at += 1;
        return {
          ...request,
          body: parts.join(number),
          headers: { ...headers, 'x-github-delivery': delivery, 'x-hub-signature-256': signature },
        };
      },
    },
  ],
});
console.log(
  JSON.stringify({ requests: result.requests.total, seconds: result.duration, failed: result.non2xx }),
);
